// Promise: whatever is sent to a program, also what never becomes a request, is answered with a valid problem document.
import 'reflect-metadata';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { Body, Controller, Get, Headers, Ip, Module, Post, Req, type OnModuleDestroy } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { IsInt } from 'class-validator';
import { parseCidr, type Cidr } from '#outgoing';
import { createFastifyNestApp, stopFastifyNestApp, type HttpAppOptions } from './fastify-app.js';
import { HealthModule } from '#runtime';
import { createLogger } from '#runtime';
import { Metrics, MetricsModule } from '#runtime';
import { Problem } from '#problems';
import type { ProblemDocument } from './problem-answer.js';
import { AcceptsForm } from './route-config.js';

class Sum {
  @IsInt()
  a!: number;
}

@Controller('v1')
class SampleController {
  @Post('sums')
  sum(@Body() body: Sum, @Req() request: { rawBody?: Buffer }): { a: number; raw: string } {
    return { a: body.a, raw: request.rawBody?.toString() ?? '' };
  }

  @Post('forms')
  @AcceptsForm()
  form(@Req() request: { body: URLSearchParams }): { names: string[]; a: string[] } {
    return { names: [...request.body.keys()], a: request.body.getAll('a') };
  }

  @Post('pings')
  ping(): { pong: true } {
    return { pong: true };
  }

  @Get('slow')
  async slow(): Promise<{ database: string }> {
    slow.entered();
    await slow.release;
    return { database: slow.database };
  }

  @Get('things/:id')
  thing(@Headers('x-mode') mode: string): unknown {
    if (mode === 'surprise') throw new Error('secret detail');
    if (mode === 'lost') throw Object.assign(new Error('down'), { code: 'P1001' });
    throw new Problem('not_found', 'There is no such thing.');
  }

  @Get('address')
  address(@Ip() ip: string): { ip: string } {
    return { ip };
  }
}

const slow = { entered: (): void => undefined, release: Promise.resolve(), database: 'open' };

class Database implements OnModuleDestroy {
  onModuleDestroy(): void {
    slow.database = 'closed';
  }
}

const metrics = new Metrics('sample');
const health = { up: true };

@Module({
  imports: [
    MetricsModule.register(metrics, { hasOwnPort: false }),
    HealthModule.register({
      useFactory: () => [
        { name: 'thing', check: () => (health.up ? Promise.resolve() : Promise.reject(new Error('x'))) },
      ],
    }),
  ],
  controllers: [SampleController],
  providers: [Database],
})
class SampleModule {}

const logged: string[] = [];
const open: NestFastifyApplication[] = [];

async function start(options: Partial<HttpAppOptions> = {}): Promise<{ url: string; port: number }> {
  const logger = createLogger('sample', 'info', { write: (line) => void logged.push(line) });
  const app = await createFastifyNestApp(SampleModule, { logger, metrics, bodyLimitBytes: 1_000, ...options });
  await app.listen(0, '127.0.0.1');
  open.push(app);
  const { port } = app.getHttpServer().address() as AddressInfo;
  return { url: `http://127.0.0.1:${String(port)}`, port };
}

/** Writes bytes and reads until the server closes. */
function rawExchange(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    let answer = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (answer += chunk));
    socket.on('close', () => resolve(answer)).on('error', reject);
  });
}

async function expectProblem(response: Response, status: number, code: string): Promise<ProblemDocument> {
  expect([response.status, response.headers.get('content-type')]).toEqual([
    status,
    expect.stringMatching(/^application\/problem\+json/),
  ]);
  const document = (await response.json()) as ProblemDocument;
  expect(document).toEqual({
    type: `/docs/problems/${code}`,
    title: expect.any(String),
    status,
    detail: expect.any(String),
    code,
    retryable: expect.any(Boolean),
    request_id: response.headers.get('x-request-id'),
    errors: expect.any(Array),
  });
  return document;
}

function expectRawProblem(answer: string, status: number, code: string): void {
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  expect(head).toContain(`HTTP/1.1 ${String(status)} `);
  expect(head).toContain('content-type: application/problem+json');
  expect(JSON.parse(body)).toMatchObject({ status, code, errors: [], request_id: expect.any(String) });
}

let base: { url: string; port: number };
beforeAll(async () => {
  base = await start();
});
afterAll(async () => {
  await Promise.all(open.map((app) => app.close()));
});

const post = (body: string | Buffer, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${base.url}/v1/sums`, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } });

test('a good request works, with the raw body at hand and the request id sent back', async () => {
  const response = await post('{ "a":  1 }', { 'x-request-id': 'caller-000001' });
  expect(response.status).toBe(201);
  expect(response.headers.get('x-request-id')).toBe('caller-000001');
  expect(await response.json()).toEqual({ a: 1, raw: '{ "a":  1 }' });
});

test.each([
  ['broken JSON', '{"a":', {}, 400, 'malformed_json'],
  ['an empty body', '', {}, 400, 'malformed_json'],
  ['a poisoned prototype', '{"__proto__":{"a":1}}', {}, 400, 'malformed_json'],
  ['a wrong type', '{"a":"1"}', {}, 422, 'invalid_type'],
  ['an unknown field', '{"a":1,"b":2}', {}, 422, 'unknown_field'],
  ['a list', '[1]', {}, 422, 'invalid_type'],
  ['null', 'null', {}, 422, 'required'],
  ['a body above the limit', JSON.stringify({ a: 'x'.repeat(2_000) }), {}, 413, 'payload_too_large'],
  ['another media type', '<a/>', { 'content-type': 'application/xml' }, 415, 'unsupported_media_type'],
  ['plain text', '{"a":1}', { 'content-type': 'text/plain' }, 415, 'unsupported_media_type'],
  ['a form', 'a=1', { 'content-type': 'application/x-www-form-urlencoded' }, 415, 'unsupported_media_type'],
  ['no sane media type', '{}', { 'content-type': ';;' }, 415, 'unsupported_media_type'],
  ['a compressed body', 'xx', { 'content-encoding': 'gzip' }, 415, 'unsupported_media_type'],
])('%s', async (...[, body, headers, status, code]) => {
  await expectProblem(await post(body, headers), status, code);
});

test.each([
  ['Windows-1251', [0xd5, 0xeb, 0xe5, 0xe1]],
  ['half of a letter', [0xd0]],
  ['a surrogate', [0xed, 0xa0, 0x80]],
])('400 for text that is not UTF-8: %s', async (_name, bytes) => {
  const body = Buffer.concat([Buffer.from('{"a":1,"a":"'), Buffer.from(bytes), Buffer.from('","a":1}')]);
  for (const type of ['application/json', 'application/json; charset=windows-1251']) {
    const { detail } = await expectProblem(await post(body, { 'content-type': type }), 400, 'malformed_json');
    expect(detail).toBe('The body is not UTF-8.');
  }
});

test('a client that announces JSON with every POST may call a route that takes no body', async () => {
  const response = await fetch(`${base.url}/v1/pings`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
  });
  expect([response.status, await response.json()]).toEqual([201, { pong: true }]);
});

test('a form where one is asked for keeps repeated names', async () => {
  const body = new URLSearchParams([
    ['a', '1 +'],
    ['a', 'ў'],
    ['__proto__', 'x'],
  ]);
  const response = await fetch(`${base.url}/v1/forms`, { method: 'POST', body });
  expect(await response.json()).toEqual({ names: ['a', 'a', '__proto__'], a: ['1 +', 'ў'] });
});

test('an unknown path is 404, a wrong method 405 with Allow', async () => {
  await expectProblem(await fetch(`${base.url}/nowhere`), 404, 'not_found');
  const response = await fetch(`${base.url}/v1/sums?x=1`, { method: 'DELETE' });
  await expectProblem(response, 405, 'method_not_allowed');
  expect(response.headers.get('allow')).toBe('POST');
  await expectProblem(await fetch(`${base.url}/v1/things/%zz`), 400, 'malformed_request');
  await expectProblem(await fetch(`${base.url}/v1/things/${'x'.repeat(500)}`), 414, 'uri_too_long');
});

test('a refusal of a handler, a lost database and a surprise', async () => {
  const thing = (mode: string): Promise<Response> => fetch(`${base.url}/v1/things/1`, { headers: { 'x-mode': mode } });
  expect((await expectProblem(await thing('missing'), 404, 'not_found')).detail).toBe('There is no such thing.');
  const lost = await thing('lost');
  expect(lost.headers.get('retry-after')).toBe('5');
  await expectProblem(lost, 503, 'database_unavailable');
  const surprise = await expectProblem(await thing('surprise'), 500, 'internal');
  expect(JSON.stringify(surprise)).not.toContain('secret detail');
  expect(logged.join('')).toContain('secret detail');
});

test.each(['GET /v1/address', 'GET /nowhere', 'POST /v1/sums', 'GET /healthz'])(
  '400 for two Host headers: %s',
  async (line) => {
    for (const second of ['Host: x', 'hOST: y', 'Host: ']) {
      const head = `${line} HTTP/1.1\r\nHost: x\r\n${second}\r\nConnection: close\r\n\r\n`;
      expectRawProblem(await rawExchange(base.port, head), 400, 'malformed_request');
    }
  },
);

test.each(['GET /v1/address', 'GET /nowhere', 'POST /v1/sums', 'GET /healthz'])(
  '400 without a Host header, which only HTTP/1.0 leaves out: %s',
  async (line) => {
    expectRawProblem(
      await rawExchange(base.port, `${line} HTTP/1.1\r\nConnection: close\r\n\r\n`),
      400,
      'malformed_request',
    );
    expect(await rawExchange(base.port, `${line} HTTP/1.0\r\n\r\n`)).not.toContain('Host header');
  },
);

test('bytes that never become a request', async () => {
  expectRawProblem(
    await rawExchange(base.port, 'GET /v1 HTTP/1.1\r\nhost: x\r\nbad header\r\n\r\n'),
    400,
    'malformed_request',
  );
  expectRawProblem(await rawExchange(base.port, 'hello\r\n\r\n'), 400, 'malformed_request');
  const long = `GET / HTTP/1.1\r\nhost: x\r\nx-a: ${'y'.repeat(20_000)}\r\n\r\n`;
  expectRawProblem(await rawExchange(base.port, long), 431, 'headers_too_large');
});

test('bytes behind a request in hand are not its answer', async () => {
  const answer = await rawExchange(base.port, 'GET /v1/slow HTTP/1.1\r\nhost: x\r\n\r\nhello\r\n\r\n');
  expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
});

test('a request that does not end is cut off', async () => {
  const slow = await start({ requestTimeoutMs: 300 });
  const head = 'POST /v1/sums HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{';
  expectRawProblem(await rawExchange(slow.port, head), 408, 'request_timeout');
});

test('headers that never end are cut off too', async () => {
  const slow = await start({ requestTimeoutMs: 300 });
  expectRawProblem(
    await rawExchange(slow.port, 'GET /v1/address HTTP/1.1\r\nhost: x\r\nx-slow: '),
    408,
    'request_timeout',
  );
});

test('every answer carries the security headers, and none names the programs that answer', async () => {
  const outside = await start({ isHttpsOutside: true });
  const preflight = {
    method: 'OPTIONS',
    headers: { origin: 'https://evil.test', 'access-control-request-method': 'POST' },
  };
  const answers = [
    await fetch(`${base.url}/v1/address`, { headers: { origin: 'https://evil.test' } }),
    await post('{"a":'),
    await fetch(`${base.url}/no/such/path`),
    await fetch(`${base.url}/v1/%zz`),
    await fetch(`${base.url}/v1/sums`, preflight),
    await fetch(`${outside.url}/v1/address`),
  ];
  for (const { url, headers } of answers) {
    const answered = Object.fromEntries(headers);
    expect([url, answered]).toEqual([
      url,
      expect.objectContaining({
        'x-content-type-options': 'nosniff',
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
      }),
    ]);
    const names = Object.keys(answered);
    expect(names.filter((name) => /^(access-control-.*|server|x-powered-by)$/.test(name))).toEqual([]);
    expect(headers.has('strict-transport-security')).toBe(url.startsWith(outside.url));
  }
  expect(answers[0]?.headers.get('cache-control')).toBe('no-store');
  await Promise.all(answers.map((response) => response.text()));
});

test('X-Forwarded-For counts only from a trusted proxy', async () => {
  const ask = async (url: string): Promise<unknown> =>
    (await fetch(`${url}/v1/address`, { headers: { 'x-forwarded-for': '203.0.113.9' } })).json();
  expect(await ask(base.url)).toEqual({ ip: '127.0.0.1' });
  const parse = parseCidr('127.0.0.0/8');
  const loopback: Cidr[] = parse.kind === 'ok' ? [parse.cidr] : [];
  expect(await ask((await start({ trustedProxies: loopback })).url)).toEqual({ ip: '203.0.113.9' });
});

test('stopping lets a request in hand finish before the database goes, and takes no new one', async () => {
  const { url } = await start();
  let release = (): void => undefined;
  slow.release = new Promise((resolve) => (release = resolve));
  const entered = new Promise<void>((resolve) => (slow.entered = resolve));
  const answer = fetch(`${url}/v1/slow`);
  await entered;
  const app = open.pop();
  if (!app) throw new Error('started above');
  const stopped = stopFastifyNestApp(app);
  await expect(fetch(`${url}/healthz`)).rejects.toThrow();
  release();
  expect(await (await answer).json()).toEqual({ database: 'open' });
  await stopped;
  expect(slow.database).toBe('closed');
});

test('probes and metrics', async () => {
  expect(await (await fetch(`${base.url}/healthz`)).json()).toEqual({ status: 'ok' });
  expect((await fetch(`${base.url}/readyz`)).status).toBe(200);
  health.up = false;
  const response = await fetch(`${base.url}/readyz`);
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ status: 'not_ready', checks: { thing: { state: 'down' } } });
  health.up = true;
  const text = await (await fetch(`${base.url}/metrics`)).text();
  expect(text).toContain(
    'http_request_duration_seconds_count{program="sample",method="GET",route="/v1/things/:id",status="404"}',
  );
});
