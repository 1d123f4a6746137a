// Promise: "not one byte left", "registered", "refused" and "unclear" are never confused, whatever the register does.
import { connect, createServer, type AddressInfo } from 'node:net';
import { freePorts } from '../../runtime/src/testing/free-ports.js';
import type { SaleAnswer } from './answers.js';
import { LocalApiClient } from './client.js';
import { BODY, ClientRig, RECEIPT, SALE, sell } from './testing/client-rig.js';
import { untilTrue } from '../../runtime/src/testing/until.js';
import { answer } from './testing/misbehaving-server.js';
import { TEST_CERTIFICATE } from './testing/test-certificate.js';

const REFUSED = {
  success: false,
  error: { code: 'E-013', message: 'no', rule: 'ITEM_SPIC_NOT_IN_TASNIF', details: { itemIndex: 0 } },
};

const rig = new ClientRig();
afterEach(() => rig.end());

describe('registered and refused', () => {
  test('a success carries key, body and API key once, and the receipt back', async () => {
    const { server, client } = await rig.setUp((socket) => socket.write(answer(200, SALE)));
    expect(await sell(client)).toEqual({ kind: 'registered', httpStatus: 200, response: SALE });
    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]?.body).toBe(BODY.toString());
    expect(server.requests[0]?.head).toMatch(/^POST \/receipts HTTP\/1\.1/);
    expect(server.requests[0]?.head).toMatch(/\r\nIdempotency-Key: rcp_1\r\n/);
    expect(server.requests[0]?.head).toMatch(/\r\nX-API-Key: key-1\r\n/);
  });

  test('a byte order mark, a missing print and 201 do not hide a registration', async () => {
    const body = `\uFEFF${JSON.stringify({ success: true, receipt: RECEIPT, ofdSent: false, ofdError: 'down' })}`;
    const { client } = await rig.setUp((socket) => socket.write(answer(201, body)));
    const response = { success: true, receipt: RECEIPT, receiptHtml: '', ofdSent: false, ofdError: 'down' };
    expect(await sell(client)).toEqual({ kind: 'registered', httpStatus: 201, response });
  });

  test.each([400, 200, 503, 500])('success:false with a code is a refusal with status %i', async (status) => {
    const { client } = await rig.setUp((socket) => socket.write(answer(status, REFUSED)));
    expect(await sell(client)).toEqual({ kind: 'refused', httpStatus: status, ...REFUSED.error });
  });
});

describe('not one byte was written', () => {
  test('refused connection', async () => {
    const client = rig.clientOf(`http://127.0.0.1:${String(await freePorts(1))}`);
    expect(await sell(client)).toEqual({ kind: 'not_sent', reason: 'ECONNREFUSED' });
    expect(await client.status()).toEqual({ kind: 'unreachable', reason: 'ECONNREFUSED' });
  });

  test('unknown name', async () => {
    const client = rig.clientOf('http://no-such-register.invalid:8765');
    expect(await sell(client)).toEqual({ kind: 'not_sent', reason: expect.stringMatching(/^(ENOTFOUND|EAI_AGAIN)$/) });
  });

  test('garbage instead of TLS', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy()).resume();
      socket.end('this is no TLS\r\n\r\n');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    expect(await sell(rig.clientOf(`https://127.0.0.1:${String(port)}`))).toMatchObject({ kind: 'not_sent' });
    await new Promise((resolve) => server.close(resolve));
  });

  test('an untrusted certificate fails; trusted by its authority it works', async () => {
    const { server, client } = await rig.setUp((socket) => socket.write(answer(200, SALE)), { tls: true });
    expect(await sell(client)).toMatchObject({ kind: 'not_sent', reason: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    expect(server.bytesReceived).toBe(0);
    const trusting = await rig.setUp((socket) => socket.write(answer(200, SALE)), { tls: true, ca: TEST_CERTIFICATE });
    expect(await sell(trusting.client)).toMatchObject({ kind: 'registered' });
    expect(await sell(trusting.client)).toMatchObject({ kind: 'registered' });
    expect(trusting.server.connections).toBe(1);
  });

  test('a TLS handshake that never ends', async () => {
    const server = createServer((socket) => socket.on('error', () => socket.destroy()).resume());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const client = rig.clientOf(`https://127.0.0.1:${String(port)}`, { connectTimeoutMs: 100 });
    expect(await sell(client)).toEqual({ kind: 'not_sent', reason: 'connect_timeout' });
    client.close();
    await new Promise((resolve) => server.close(resolve));
  });

  test.each([false, true])(
    'ready means connected and silent (TLS: %s); a guard that says no keeps it so',
    async (tls) => {
      const { server, client } = await rig.setUp((socket) => socket.write(answer(200, SALE)), {
        tls,
        ca: TEST_CERTIFICATE,
      });
      const preparation = await client.prepareReceipt(BODY, null);
      if (preparation.kind !== 'ready') throw new Error(preparation.reason);
      await untilTrue(() => server.connections === 1);
      expect(await preparation.call.send(() => false)).toEqual({ kind: 'not_sent', reason: 'guard' });
      expect(await sell(client)).toMatchObject({ kind: 'registered' });
      expect(server.requests).toHaveLength(1);
    },
  );

  test('the guard is asked in the same turn in which the bytes are written', async () => {
    const { client } = await rig.setUp((socket) => socket.write(answer(200, SALE)));
    const preparation = await client.prepareReceipt(BODY, null);
    if (preparation.kind !== 'ready') throw new Error(preparation.reason);
    let asked = false;
    const sending = preparation.call.send(() => (asked = true));
    expect(asked).toBe(true);
    expect(await sending).toMatchObject({ kind: 'registered' });
  });

  test('a guard that throws stops the sending and its error is passed on', async () => {
    const { server, client } = await rig.setUp((socket) => socket.write(answer(200, SALE)));
    const failing = sell(client, () => {
      throw new Error('clock broke');
    });
    await expect(failing).rejects.toThrow('clock broke');
    expect(server.bytesReceived).toBe(0);
  });

  test('a connection that is lost between ready and send', async () => {
    const { server, client } = await rig.setUp((socket) => socket.write(answer(200, SALE)));
    const preparation = await client.prepareReceipt(BODY, null);
    if (preparation.kind !== 'ready') throw new Error(preparation.reason);
    await untilTrue(() => server.connections === 1);
    const witness = connect(Number(new URL(server.url).port), '127.0.0.1');
    await untilTrue(() => server.connections === 2);
    server.endConnections();
    // The client has seen the end once another connection, ended after it, has.
    await new Promise((resolve) => witness.on('close', resolve).resume());
    expect(await preparation.call.send(() => true)).toEqual({ kind: 'not_sent', reason: 'connection_lost' });
    expect(server.bytesReceived).toBe(0);
  });

  test('a key that HTTP cannot carry', async () => {
    const { server, client } = await rig.setUp((socket) => socket.write(answer(200, SALE)), { apiKey: 'a\nb' });
    expect(await sell(client)).toEqual({ kind: 'not_sent', reason: 'ERR_INVALID_CHAR' });
    expect(server.connections).toBe(0);
  });

  test('abandoned', async () => {
    const { server, client } = await rig.setUp((socket) => socket.write(answer(200, SALE)));
    const preparation = await client.prepareReceipt(BODY, null);
    if (preparation.kind !== 'ready') throw new Error(preparation.reason);
    preparation.call.abandon();
    await expect(preparation.call.send(() => true)).rejects.toThrow('sent once');
    expect(server.bytesReceived).toBe(0);
  });
});

describe('unclear', () => {
  const html = '<html>Welcome to the router</html>';
  const cut = answer(200, SALE).slice(0, -20);
  const without = (name: string): unknown => ({ ...SALE, receipt: { ...RECEIPT, [name]: undefined } });
  const withValue = (name: string, value: unknown): unknown => ({ ...SALE, receipt: { ...RECEIPT, [name]: value } });

  test.each<[string, string, Partial<SaleAnswer>]>([
    ['bytes that are not HTTP', 'SSH-2.0-OpenSSH_9.2\r\n', { reason: 'unreadable' }],
    ['HTML with 200', answer(200, html), { reason: 'unreadable', httpStatus: 200, excerpt: html }],
    ['HTML with 404', answer(404, html), { reason: 'http_error', httpStatus: 404 }],
    ['an empty 200', answer(200, ''), { reason: 'unreadable' }],
    ['a JSON list', answer(200, []), { reason: 'unreadable' }],
    ['a JSON text', answer(200, '"ok"'), { reason: 'unreadable' }],
    ['a success without a receipt', answer(200, { success: true }), { reason: 'unreadable' }],
    ['a receipt without success', answer(200, { receipt: RECEIPT }), { reason: 'unreadable' }],
    ['success as a text', answer(200, { ...SALE, success: 'true' }), { reason: 'unreadable' }],
    ['no terminal', answer(200, without('terminalId')), { reason: 'unreadable' }],
    ['no sequence', answer(200, without('receiptSeq')), { reason: 'unreadable' }],
    ['a sequence as text', answer(200, withValue('receiptSeq', '7')), { reason: 'unreadable' }],
    ['a fractional sequence', answer(200, withValue('receiptSeq', 7.5)), { reason: 'unreadable' }],
    ['a sequence beyond 2^53', answer(200, withValue('receiptSeq', 2 ** 60)), { reason: 'unreadable' }],
    ['sequence 0', answer(200, withValue('receiptSeq', 0)), { reason: 'unreadable' }],
    ['a sign as a number', answer(200, withValue('fiscalSign', 12345678901)), { reason: 'unreadable' }],
    ['a time as text', answer(200, withValue('transactionTime', '2026')), { reason: 'unreadable' }],
    ['a redirect', answer(302, '', { Location: 'http://127.0.0.1/' }), { reason: 'redirect', httpStatus: 302 }],
    ['a redirect with a sale', answer(307, SALE, { Location: '/x' }), { reason: 'redirect' }],
    ['500 with success:true', answer(500, SALE), { reason: 'contradiction', httpStatus: 500 }],
    ['success:true with an error', answer(200, { ...SALE, error: { code: 'E-001' } }), { reason: 'contradiction' }],
    ['success:false with a receipt', answer(200, { ...REFUSED, receipt: RECEIPT }), { reason: 'contradiction' }],
    ['success:false without a code', answer(200, { success: false }), { reason: 'unreadable' }],
    ['400 without a code', answer(400, { success: false, error: {} }), { reason: 'http_error' }],
    ['500 without JSON', answer(500, 'oops'), { reason: 'http_error', httpStatus: 500 }],
    ['an answer cut short', cut, { reason: 'reset', httpStatus: 200 }],
    ['an endless header', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}`, { reason: 'unreadable' }],
    ['switching protocols', 'HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n', { reason: 'unreadable' }],
    ['two lengths', 'HTTP/1.1 200 X\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}   ', { reason: 'unreadable' }],
    ['a bad chunk', 'HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}', { reason: 'unreadable' }],
  ])('%s', async (_name, bytes, expected) => {
    const { server, client } = await rig.setUp((socket) => socket.end(bytes));
    expect(await sell(client)).toMatchObject({ kind: 'unclear', ...expected });
    expect(server.requests).toHaveLength(1);
  });

  test('broken UTF-8 is not repaired', async () => {
    const { client } = await rig.setUp((socket) => {
      const text = answer(200, { ...SALE, receiptHtml: '\u0001' });
      socket.end(
        Buffer.from(text.replace('\\u0001', '     \u0001'), 'latin1').map((byte) => (byte === 1 ? 0xff : byte)),
      );
    });
    expect(await sell(client)).toMatchObject({ kind: 'unclear', reason: 'unreadable' });
  });

  test('reset before the first byte of the answer, and in its middle', async () => {
    const before = await rig.setUp((socket) => socket.resetAndDestroy());
    expect(await sell(before.client)).toMatchObject({ kind: 'unclear', reason: 'reset' });
    const middle = await rig.setUp((socket) => socket.write(cut, () => socket.resetAndDestroy()));
    expect(await sell(middle.client)).toMatchObject({ kind: 'unclear', reason: 'reset' });
  });

  test('closed without an answer', async () => {
    const { client } = await rig.setUp((socket) => socket.end());
    expect(await sell(client)).toEqual({ kind: 'unclear', reason: 'reset' });
  });

  test('silence ends at the deadline and closes the connection', async () => {
    const closed: boolean[] = [];
    const { client } = await rig.setUp((socket) => socket.on('close', () => closed.push(true)), { timeoutMs: 150 });
    expect(await sell(client)).toEqual({ kind: 'unclear', reason: 'timeout' });
    await untilTrue(() => closed.length === 1);
  });

  test('a slow drip does not outlive the deadline', async () => {
    const { client } = await rig.setUp(
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n');
        const drip = setInterval(() => socket.write(' '), 10);
        socket.on('close', () => clearInterval(drip));
      },
      { timeoutMs: 200 },
    );
    expect(await sell(client)).toMatchObject({ kind: 'unclear', reason: 'timeout' });
  });

  test('100 MB are not read', async () => {
    let written = 0;
    const { client } = await rig.setUp((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      const block = `100000\r\n${' '.repeat(1 << 20)}\r\n`;
      const pump = (): void => {
        if (socket.destroyed || written > 100) return;
        written += 1;
        socket.write(block, pump);
      };
      pump();
    });
    expect(await sell(client)).toMatchObject({ kind: 'unclear', reason: 'too_large', httpStatus: 200 });
    expect(written).toBeLessThan(50);
  });
});

describe('the other calls', () => {
  const status = {
    app: 'x',
    version: '1',
    systemVersion: '2',
    port: 8765,
    fmInitialized: true,
    activated: true,
    subscriptionState: 'active',
  };

  test('send what the register expects and read headers and values', async () => {
    const { server, client } = await rig.setUp((socket, { head }) => {
      const headers = { 'X-Subscription-State': 'active' };
      if (head.startsWith('GET /status')) socket.write(answer(200, status, headers));
      else if (head.startsWith('POST /z-report/open')) socket.write(answer(200, { success: true }));
      else socket.write(answer(409, { success: false, error: { code: 'F-002', message: 'closed' } }));
    });
    expect(await client.status()).toMatchObject({
      kind: 'ok',
      value: status,
      headers: { 'x-subscription-state': 'active' },
    });
    expect(await client.openShift()).toMatchObject({ kind: 'ok', value: { success: true } });
    expect(await client.closeShift()).toMatchObject({ kind: 'refused', code: 'F-002', httpStatus: 409 });
    expect(await client.findByKey('a b/ü')).toMatchObject({ kind: 'refused' });
    expect(server.requests.map(({ head, body }) => `${head.split(' HTTP')[0] ?? ''} ${body}`)).toEqual([
      'GET /status ',
      'POST /z-report/open {}',
      'POST /z-report/close {}',
      'GET /receipts?key=a%20b%2F%C3%BC ',
    ]);
  });

  test('a resend of which some failed is an answer with its counts', async () => {
    const partial = {
      success: false,
      total: 2,
      sent: 1,
      failed: 1,
      errors: [{ receiptSeq: 7, code: 'T-001', message: 'away' }],
    };
    const { client } = await rig.setUp((socket) => socket.write(answer(200, partial)));
    expect(await client.sendUnsentReceipts()).toMatchObject({ kind: 'ok', value: { sent: 1, failed: 1 } });
    expect(await client.openShift()).toMatchObject({ kind: 'unclear', reason: 'unreadable' });
  });

  test('a path below the address and IPv6 are kept', async () => {
    const { server } = await rig.setUp((socket) => socket.write(answer(200, status)));
    const client = rig.clientOf(`${server.url}/register/1/`);
    expect(await client.status()).toMatchObject({ kind: 'ok' });
    expect(server.requests[0]?.head).toMatch(/^GET \/register\/1\/status /);
    expect(() => new LocalApiClient({ baseUrl: 'ftp://x', apiKey: '', timeoutMs: 1 })).toThrow(TypeError);
    const unreachable = rig.clientOf(`http://[::1]:${String(await freePorts(1))}`);
    expect(await unreachable.status()).toMatchObject({ kind: 'unreachable' });
  });
});
