// Promise: a guarded request reaches only checked addresses, follows no redirect, ends in time, and reports honestly what left.
import { createServer, type Server } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Server as TcpServer } from 'node:net';
import { parseCidr, type Cidr } from './cidr.js';
import { guardedRequest, type GuardedAnswer, type GuardedRequest } from './guarded-request.js';
import type { NameLookup } from './name-lookup.js';
import { OutgoingGuard } from './outgoing-guard.js';

const LOOPBACK = networkOf('127.0.0.0/8');
const open: (Server | TcpServer)[] = [];
let hits: string[] = [];

afterEach(async () => {
  hits = [];
  const closing = open.splice(0).map((server) => {
    const closed = new Promise((resolve) => server.close(resolve));
    if ('closeAllConnections' in server) server.closeAllConnections();
    return closed;
  });
  await Promise.all(closing);
});

function networkOf(text: string): Cidr {
  const parse = parseCidr(text);
  if (parse.kind === 'invalid') throw new Error(parse.reason);
  return parse.cidr;
}

async function listen(server: Server | TcpServer): Promise<number> {
  open.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

function receiver(answer: Parameters<typeof createServer>[1]): Promise<number> {
  return listen(
    createServer((request, response) => {
      hits.push(`${request.method ?? ''} ${request.url ?? ''} ${request.headers.host ?? ''}`);
      (answer as (a: typeof request, b: typeof response) => void)(request, response);
    }),
  );
}

function ask(request: GuardedRequest, guard = OutgoingGuard.forWebhooks([LOOPBACK])): Promise<GuardedAnswer> {
  return guardedRequest(guard, { timeoutMs: 20_000, ...request });
}

test('sends once and brings the answer back', async () => {
  const port = await receiver((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => response.writeHead(201).end(body));
  });
  const answer = await ask({ url: `http://127.0.0.1:${port}/hook?a=b`, body: '{"чек":1}' });
  expect(answer).toMatchObject({ kind: 'answered', status: 201, truncated: false });
  expect(answer.kind === 'answered' && answer.body.toString()).toBe('{"чек":1}');
  expect(hits).toEqual([`POST /hook?a=b 127.0.0.1:${port}`]);
});

test('a redirect is an answer, not a way', async () => {
  const secret = await receiver((_request, response) => response.end('metadata'));
  const port = await receiver((_request, response) =>
    response.writeHead(302, { location: `http://127.0.0.1:${secret}/` }).end(),
  );
  expect(await ask({ url: `http://127.0.0.1:${port}/` })).toMatchObject({ kind: 'answered', status: 302 });
  expect(hits).toEqual([`GET / 127.0.0.1:${port}`]);
});

test('a forbidden literal or name is refused before anything is sent', async () => {
  const port = await receiver((_request, response) => response.end());
  const strict = OutgoingGuard.forWebhooks([]);
  for (const host of ['127.0.0.1', '2130706433', '0x7f.1', '[::ffff:127.0.0.1]', 'localhost']) {
    for (const scheme of ['http', 'https']) {
      expect(await ask({ url: `${scheme}://${host}:${port}/` }, strict)).toMatchObject({ kind: 'refused' });
    }
  }
  expect(hits).toEqual([]);
});

test('a name that moves between check and connection gains nothing', async () => {
  const port = await receiver((_request, response) => response.end());
  const answers = ['8.8.8.8', '127.0.0.1'];
  const moving: NameLookup = (_hostname, _options, callback) =>
    callback(null, [{ address: answers.shift() ?? '127.0.0.1', family: 4 }]);
  const guard = OutgoingGuard.forWebhooks([], moving);
  const url = `https://shop.example:${port}/`;
  expect((await guard.check(url)).kind).toBe('allowed');
  expect(await ask({ url }, guard)).toEqual({
    kind: 'refused',
    reason: 'the name leads outside the public networks and WEBHOOK_ALLOWED_CIDRS',
  });
  expect(hits).toEqual([]);
});

test('a large answer is cut, a silent or broken one ends in time', async () => {
  const large = await receiver((_request, response) => response.end(Buffer.alloc(5_000_000, 97)));
  const cut = await ask({ url: `http://127.0.0.1:${large}/`, maxAnswerBytes: 1_000 });
  expect(cut).toMatchObject({ kind: 'answered', status: 200, truncated: true });
  expect(cut.kind === 'answered' && cut.body.length).toBe(1_000);

  const silent = await receiver(() => undefined);
  const late = await ask({ url: `http://127.0.0.1:${silent}/`, timeoutMs: 300 });
  expect(late).toEqual({ kind: 'failed', reason: 'timeout' });

  const dripping = await receiver((_request, response) => {
    const timer = setInterval(() => response.write('a'), 20);
    response.on('close', () => clearInterval(timer));
  });
  expect(await ask({ url: `http://127.0.0.1:${dripping}/`, timeoutMs: 300 })).toMatchObject({
    kind: 'failed',
    reason: 'timeout',
  });

  const odd = await listen(
    createTcpServer((socket) =>
      socket
        .on('error', () => undefined)
        .resume()
        .end('hello\r\n\r\n'),
    ),
  );
  expect((await ask({ url: `http://127.0.0.1:${odd}/` })).kind).toBe('failed');
});

test('no connection, no byte: refused port, unknown name, no TLS there', async () => {
  const port = await receiver((_request, response) => response.end());
  expect((await ask({ url: `https://127.0.0.1:${port}/` })).kind).toBe('not_sent');
  expect(hits).toEqual([]);
  const server = createTcpServer();
  const free = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  open.splice(open.indexOf(server), 1);
  expect(await ask({ url: `http://127.0.0.1:${free}/` })).toEqual({ kind: 'not_sent', reason: 'ECONNREFUSED' });
  const unresolved: NameLookup = (_hostname, _options, callback) => callback(new Error('no such name'), []);
  expect(await ask({ url: 'https://shop.example/' }, OutgoingGuard.forWebhooks([], unresolved))).toEqual({
    kind: 'not_sent',
    reason: 'the name does not resolve',
  });
  const stalled: NameLookup = () => undefined;
  const guard = OutgoingGuard.forWebhooks([], stalled);
  expect(await ask({ url: 'https://shop.example/', connectTimeoutMs: 200 }, guard)).toEqual({
    kind: 'not_sent',
    reason: 'connect_timeout',
  });
});

test('a header that HTTP cannot carry is refused', async () => {
  expect((await ask({ url: 'http://127.0.0.1:9/', headers: { 'x-a': 'b\r\nc: d' } })).kind).toBe('refused');
});
