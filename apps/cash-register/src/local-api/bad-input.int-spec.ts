// Breaks if any input makes the register answer without a documented code, hang, or register something.
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { API_KEY, startTestRegister, withRegister, type TestRegister } from '../testing/register-fixture.js';
import { item, sale } from '../testing/samples.js';

const text = JSON.stringify(sale());

/** All that comes back until the register closes the connection. */
function answerTo(url: string, send: (socket: Socket) => unknown): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => send(socket));
    let received = '';
    socket.setEncoding('utf8').on('data', (piece: string) => (received += piece));
    socket.on('error', reject).on('close', () => resolve(received));
  });
}
const MAX = Number.MAX_SAFE_INTEGER;

/** Answer status and error code of raw bytes: what fetch() would never send. */
function post(
  register: TestRegister,
  body: Buffer | string,
  headers: Record<string, string> = {},
): Promise<[number, string]> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      `${register.url}/receipts`,
      { method: 'POST', headers: { 'x-api-key': API_KEY, 'content-type': 'application/json', ...headers } },
      (answer) => {
        let received = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => (received += chunk));
        answer.on('end', () => {
          const { error } = JSON.parse(received) as { error?: { code: string } };
          resolve([answer.statusCode ?? 0, error?.code ?? 'registered']);
        });
      },
    );
    request.on('error', reject);
    request.setTimeout(10_000, () => request.destroy(new Error('no answer')));
    request.end(body);
  });
}

const CASES: [string, Buffer | string, [number, string]][] = [
  ['nothing', '', [400, 'S-003']],
  ['half an object', text.slice(0, -1), [400, 'S-003']],
  ['two objects', text + text, [400, 'S-003']],
  ['NaN', text.replace('2000000', 'NaN'), [400, 'S-003']],
  ['Infinity', text.replace('2000000', 'Infinity'), [400, 'S-003']],
  ['a number that overflows', text.replace('2000000', '1e999'), [400, 'E-012']],
  [
    'broken UTF-8',
    Buffer.concat([Buffer.from('{"type":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]),
    [400, 'S-003'],
  ],
  ['UTF-16', Buffer.from(text, 'utf16le'), [400, 'S-003']],
  ['a million brackets', '['.repeat(1_000_000), [400, 'S-003']],
  ['deep nesting in place of a name', text.replace('"Non"', '['.repeat(100_000) + ']'.repeat(100_000)), [400, 'E-011']],
  [
    'deep nesting in place of a label',
    text.replace('"name"', `"labels":[${'['.repeat(100_000)}${']'.repeat(100_000)}],"name"`),
    [400, 'S-003'],
  ],
  ['a fractional price', JSON.stringify(sale({ items: [item({ price: 100.5 })] })), [400, 'E-012']],
  ['a price in text', JSON.stringify(sale({ items: [item({ price: '100' } as never)] })), [400, 'E-012']],
  ['a price beyond 2^53', text.replace('"price":2000000', '"price":9999999999999999'), [400, 'E-012']],
  ['a line beyond 2^53', JSON.stringify(sale({ items: [item({ price: MAX, amount: 2000 })] })), [400, 'S-003']],
  [
    'a total beyond 2^53',
    JSON.stringify(sale({ items: [item({ price: MAX }), item({ price: MAX })], received: { cash: 0, card: 0 } })),
    [400, 'S-003'],
  ],
  ['payments beyond 2^53', JSON.stringify(sale({ received: { cash: MAX, card: MAX } })), [400, 'E-009']],
  ['a fractional payment', JSON.stringify(sale({ received: { cash: 0.5, card: 0 } })), [400, 'E-008']],
  ['a fractional discount', JSON.stringify(sale({ items: [item({ discount: 0.5 })] })), [400, 'S-003']],
  ['a negative discount', JSON.stringify(sale({ items: [item({ discount: -1 })] })), [400, 'S-003']],
  [
    'a total of nothing',
    JSON.stringify(sale({ items: [item({ discount: 2_000_000 })], received: { cash: 0, card: 0 } })),
    [400, 'S-003'],
  ],
  ['NUL in a name', text.replace('Non', '\\u0000'), [400, 'S-003']],
  ['half a surrogate pair in a name', text.replace('Non', '\\ud800'), [400, 'S-003']],
  [
    'items that are no objects',
    text.replace(/"items":\[.*\],"received"/, '"items":[null,1,"x",[]],"received"'),
    [400, 'E-011'],
  ],
  [
    '501 items',
    JSON.stringify(sale({ items: Array.from({ length: 501 }, () => item({ price: 10_000 })) })),
    [400, 'S-003'],
  ],
  ['half a million items', `{"type":"sale","items":[${'0,'.repeat(500_000)}0],"received":{"cash":0}}`, [400, 'S-003']],
  [
    '301 labels',
    JSON.stringify(sale({ items: [item({ amount: 301_000, labels: Array.from({ length: 301 }, String) })] })),
    [400, 'S-003'],
  ],
  ['2 MB', JSON.stringify({ ...sale(), pad: 'x'.repeat(2_000_000) }), [413, 'S-003']],
];

describe('bad input', () => {
  let register: TestRegister;
  beforeAll(async () => {
    register = await startTestRegister();
  });
  afterAll(() => register.close());
  afterEach(async () => {
    // Nothing registered, and the register goes on.
    expect((await register.call('GET', '/fm/info')).body.currentReceiptSeq).toBe(0);
  });

  test.each(CASES)('%s', async (_what, body, expected) => {
    expect(await post(register, body)).toEqual(expected);
    expect(await post(register, body, { 'idempotency-key': 'key-1' })).toEqual(expected);
  });

  test.each([
    ['text/plain', [415, 'S-003']],
    ['application/x-www-form-urlencoded', [415, 'S-003']],
    ['multipart/form-data; boundary=x', [415, 'S-003']],
    ['application/json; charset=utf-16', [400, 'S-003']],
    ['rubbish', [415, 'S-003']],
  ])('content type %s', async (type, expected) => {
    const body = type.includes('utf-16') ? Buffer.from(text, 'utf16le') : text;
    expect(await post(register, body, { 'content-type': type })).toEqual(expected);
  });

  test.each([['x'.repeat(256)], ['ключ'.replaceAll(/./gu, '\u00ff')], ['\t']])('Idempotency-Key %j', async (key) => {
    expect(await post(register, text, { 'idempotency-key': `${key}` })).toEqual([400, 'S-003']);
  });

  test.each([
    '/receipts/1/2',
    '/receipts/%00',
    '/receipts/%ff',
    '/%2e%2e/etc',
    '//',
    '/receipts?key=',
    '/receipts/99999999999999999999',
  ])('GET %s', async (path) => {
    const { status, body } = await register.call('GET', path);
    expect([400, 404, 405]).toContain(status);
    expect(body).toMatchObject({ success: false, error: { code: expect.stringMatching(/^S-00[23]$/) } });
  });

  test('input that is not HTTP gets the documented error form', async () => {
    const answer = await answerTo(register.url, (socket) => socket.end('rubbish\r\n\r\n'));
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('"code":"S-003"');
  });

  test.each(['/status', '/receipts/1', '/', '/nowhere'])('400 for two Host headers: %s', async (path) => {
    const head = `GET ${path} HTTP/1.1\r\nHost: a\r\nHost: b\r\nX-API-Key: ${API_KEY}\r\nConnection: close\r\n\r\n`;
    const answer = await answerTo(register.url, (socket) => socket.write(head));
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('"code":"S-003"');
  });

  test.each([
    ['two Host headers', 400, 'Host: a\r\nHost: b\r\n'],
    ['no Host header', 400, ''],
    ['an Expect header that means nothing', 404, 'Host: a\r\nExpect: something\r\n'],
    ['a header without a name', 400, 'Host: a\r\n: x\r\n'],
    ['headers without an end', 400, `Host: a\r\nX: ${'x'.repeat(20_000)}\r\n`],
  ])('%s: the documented answer, with the subscription headers', async (_what, status, headers) => {
    const head = `POST /nowhere HTTP/1.1\r\n${headers}X-API-Key: ${API_KEY}\r\nConnection: close\r\n\r\n`;
    const answer = await answerTo(register.url, (socket) => socket.write(head));
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${String(status)} `));
    expect(answer).toMatch(/"success":false,"error":\{"code":"S-00[23]"/);
    for (const name of ['Expires-At: 2099-12-31T00:00:00.000Z', 'Days-Left: \\d+', 'State: active'])
      expect(answer).toMatch(new RegExp(`^X-Subscription-${name}\r$`, 'im'));
  });

  test('a sale whose Expect header means nothing is registered as any other', () =>
    withRegister({}, async (own) => {
      const head = `POST /receipts HTTP/1.1\r\nHost: a\r\nExpect: something\r\nX-API-Key: ${API_KEY}\r\nConnection: close`;
      const length = String(Buffer.byteLength(text));
      const request = `${head}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${text}`;
      expect(await answerTo(own.url, (socket) => socket.write(request))).toContain('"receiptSeq":1');
    }));

  test('a request that promises more than it sends ends without a trace', async () => {
    await expect(
      new Promise((resolve, reject) => {
        const request = httpRequest(`${register.url}/receipts`, {
          method: 'POST',
          headers: {
            'x-api-key': API_KEY,
            'content-type': 'application/json',
            'content-length': String(text.length + 10),
          },
        });
        request.on('error', reject).on('response', resolve);
        request.write(text);
        setTimeout(() => request.destroy(new Error('client gave up')), 200);
      }),
    ).rejects.toThrow('client gave up');
  });
});

test.each([
  ['input that is not HTTP', 'rubbish\r\n\r\n'],
  ['half of a body without a key', 'POST /receipts HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{'],
])(
  '%s, from a peer that neither closes nor sends more, does not keep the register from stopping',
  async (_what, bytes) => {
    const own = await startTestRegister();
    const socket = connect({ port: Number(new URL(own.url).port), host: '127.0.0.1', allowHalfOpen: true });
    try {
      socket.write(bytes);
      await once(socket, 'data');
      const begunMs = performance.now();
      await own.close();
      // Its stop has ten seconds.
      expect(performance.now() - begunMs).toBeLessThan(9_000);
    } finally {
      socket.destroy();
    }
  },
);

test('bytes behind a sale are not its answer: it is registered, and the answer says so', () =>
  withRegister({}, async (own) => {
    const head = `POST /receipts HTTP/1.1\r\nHost: a\r\nX-API-Key: ${API_KEY}\r\nContent-Type: application/json`;
    const request = `${head}\r\nContent-Length: ${String(Buffer.byteLength(text))}\r\n\r\n${text}}}`;
    const answer = await answerTo(own.url, (socket) => socket.write(request));
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(answer).toContain('"receiptSeq":1');
    expect((await own.call('GET', '/fm/info')).body.currentReceiptSeq).toBe(1);
  }));
