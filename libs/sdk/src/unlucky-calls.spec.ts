// Promise: whatever goes wrong on the way of a call, it is not sent more often than it may be, and its error says what has to be known.
import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { until } from '../../runtime/src/testing/until.js';
import { FiscalGateway, UsageError, type ClientOptions } from './index.js';

/** What the wire does with one request. */
type Fate = (init: RequestInit) => Response | Promise<Response>;

const lost: Fate = () => Promise.reject(new TypeError('fetch failed', { cause: { code: 'ECONNRESET' } }));
const registered: Fate = () => Response.json({ id: 'rcp_1', status: 'registered' }, { status: 201 });
const freshToken: Fate = () => Response.json({ access_token: 'token', expires_in: 900 });

interface Scripted {
  fgw: FiscalGateway;
  /** The addresses that were called below /v1. */
  seen: string[];
}

/** A client whose calls below /v1 meet these fates in their order, then a receipt; those of the token endpoint likewise. */
function clientOf(fates: Fate[], more: Partial<ClientOptions> = {}, tokens: Fate[] = []): Scripted {
  const seen: string[] = [];
  const fetch = (async (input: URL, init: RequestInit) => {
    if (input.pathname === '/oauth/token') return (tokens.shift() ?? freshToken)(init);
    seen.push(input.href);
    return (fates.shift() ?? registered)(init);
  }) as typeof globalThis.fetch;
  const fgw = new FiscalGateway({
    baseUrl: 'https://gateway.example',
    credentials: { clientId: 'cli_1', clientSecret: 'secret' },
    retry: { attempts: 3, baseMs: 1, maxMs: 2 },
    fetch,
    ...more,
  });
  return { fgw, seen };
}

const sale = {
  items: [{ name: 'Non', price: 450_000, qty: 1 }],
  payment: { method: 'cash' as const },
  cashier_id: 'c',
};

const KEYED = { idempotencyKey: 'sale-1' };

function problem(status: number, code: string): Fate {
  const body = { type: code, title: code, status, detail: code, code, retryable: false, request_id: 'r', errors: [] };
  return () => Response.json(body, { status });
}

describe('what is sent', () => {
  test('a key that is null is none: such a sale is not sent, and so not repeated', async () => {
    const { fgw, seen } = clientOf([lost]);
    const unnamed = { idempotencyKey: null as never };
    await expect(fgw.receipts.create(sale, unnamed)).rejects.toThrow(UsageError);
    await expect(fgw.receipts.refund('rcp_1', {}, unnamed)).rejects.toThrow(UsageError);
    await expect(fgw.payments.create(sale, unnamed)).rejects.toThrow(UsageError);
    expect(seen).toEqual([]);
  });

  test('an id of dots would be another path, and an address must be one', async () => {
    const { fgw, seen } = clientOf([]);
    for (const id of ['', '.', '..']) await expect(fgw.receipts.get(id)).rejects.toThrow(UsageError);
    expect(seen).toEqual([]);
    for (const baseUrl of ['https://', 'https://two words.example', 'ftp://gateway.example', 'gateway.example'])
      expect(() => new FiscalGateway({ baseUrl })).toThrow(UsageError);
  });

  test('no page is asked for beyond what is wanted', async () => {
    const page: Fate = () => Response.json({ data: [{ id: 'rcp_1' }, { id: 'rcp_2' }], next_cursor: 'more' });
    const { fgw, seen } = clientOf([page, page, page]);
    await expect(fgw.receipts.list().toArray({ limit: 2 })).resolves.toHaveLength(2);
    expect(seen).toHaveLength(1);
    await expect(fgw.receipts.list().toArray({ limit: 3 })).resolves.toHaveLength(3);
    await expect(fgw.receipts.list().toArray({ limit: 0 })).resolves.toEqual([]);
    expect(seen).toHaveLength(3);
  });
});

test('an answer that says nothing is none: the sale is repeated under its key', async () => {
  const { fgw, seen } = clientOf([() => new Response('', { status: 200 })]);
  await expect(fgw.receipts.create(sale, KEYED)).resolves.toMatchObject({ status: 'registered' });
  expect(seen).toHaveLength(2);
  const removed = clientOf([() => new Response(null, { status: 204 })]);
  await expect(removed.fgw.webhooks.remove('whk_1')).resolves.toBeUndefined();
});

describe('a sale of which it is not known whether it was made', () => {
  const UNKNOWN = { name: 'ConnectionError', idempotencyKey: 'sale-1' };

  test('its error has the key where the gateway is away altogether, and says why', async () => {
    const { fgw, seen } = clientOf([], {}, [lost, lost, lost]);
    await expect(fgw.receipts.create(sale, KEYED)).rejects.toMatchObject({
      ...UNKNOWN,
      message: 'POST /v1/receipts brought no answer: POST /oauth/token brought no answer: fetch failed (ECONNRESET)',
    });
    expect(seen).toEqual([]);
  });

  test('it has the key where no token comes for the repeat', async () => {
    const { fgw, seen } = clientOf([lost, problem(401, 'invalid_token')], {}, [freshToken, lost, lost, lost]);
    await expect(fgw.receipts.create(sale, KEYED)).rejects.toMatchObject(UNKNOWN);
    expect(seen).toHaveLength(2);
    const refusing: Fate = () => Response.json({ error: 'invalid_client' }, { status: 401 });
    const ended = clientOf([lost, problem(401, 'invalid_token')], {}, [freshToken, refusing]);
    await expect(ended.fgw.receipts.create(sale, KEYED)).rejects.toMatchObject(UNKNOWN);
  });

  test('it has the key where the repeat cannot be signed; what was never sent fails with the signer’s own error', async () => {
    let isAway = false;
    const sign = () => (isAway ? Promise.reject(new Error('the HSM is away')) : Promise.resolve(new Uint8Array(64)));
    const losing: Fate = (init) => {
      isAway = true;
      return lost(init);
    };
    const { fgw } = clientOf([losing], { signing: { keyId: 'key_1', algorithm: 'ed25519', sign } });
    await expect(fgw.receipts.create(sale, KEYED)).rejects.toMatchObject(UNKNOWN);
    await expect(fgw.receipts.create(sale, KEYED)).rejects.toThrow(/^the HSM is away$/);
  });
});

describe('time', () => {
  /** Nothing comes; the call ends when its time is up. */
  const silent: Fate = ({ signal }) =>
    new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted'))));
  const accepted: Fate = () => Response.json({ id: 'rcp_1', status: 'accepted' });

  test('an attempt without a limit is not sent again at once', async () => {
    const slow: Fate = (init) => Promise.race([silent(init), delay(100).then(() => registered(init))]);
    const { fgw, seen } = clientOf([slow], { attemptTimeoutMs: Infinity });
    await expect(fgw.receipts.create(sale, KEYED)).resolves.toMatchObject({ status: 'registered' });
    expect(seen).toHaveLength(1);
  });

  test('waiting for a receipt ends in time, also where the gateway says nothing any more, and with the state that was read last', async () => {
    const { fgw } = clientOf([accepted, silent]);
    const begunMs = performance.now();
    const waiting = fgw.receipts.waitUntilFinal('rcp_1', { timeoutMs: 500 });
    await expect(waiting).rejects.toMatchObject({ name: 'WaitTimeoutError', receipt: { status: 'accepted' } });
    expect(performance.now() - begunMs).toBeLessThan(5_000);
  });

  test('waiting ends with the caller’s signal, and with a refusal', async () => {
    const stop = new AbortController();
    const onState = () => stop.abort(new Error('enough'));
    const waiting = clientOf([accepted]).fgw.receipts.waitUntilFinal('rcp_1', { signal: stop.signal, onState });
    await expect(waiting).rejects.toThrow(/^enough$/);
    const refused = clientOf([accepted, problem(403, 'insufficient_scope')]).fgw.receipts.waitUntilFinal('rcp_1');
    await expect(refused).rejects.toMatchObject({ code: 'insufficient_scope' });
  });

  test('a call that is aborted while its answer arrives rejects with the reason of its signal', async () => {
    const stalled: Fate = ({ signal }) => {
      const body = new ReadableStream({
        start: (controller) => signal?.addEventListener('abort', () => controller.error(new Error('of the runtime'))),
      });
      return new Response(body, { status: 200 });
    };
    const stop = new AbortController();
    const reading = clientOf([stalled]).fgw.receipts.get('rcp_1', { signal: stop.signal });
    await delay(20);
    stop.abort(new Error('enough'));
    await expect(reading).rejects.toThrow(/^enough$/);
  });
});

describe('the stream of events', () => {
  const away: Fate = () => new Response('<h1>Bad gateway</h1>', { status: 502 });
  const event: Fate = () => new Response('id: a\n\nid: b\ndata: {"id":"evt_1"}\n\n');

  test('waits for a gateway that is away, also where a proxy says so, and ends with a refusal', async () => {
    const { fgw, seen } = clientOf([event, away, away, away, event, problem(403, 'insufficient_scope')]);
    const places: string[] = [];
    const reading = (async () => {
      for await (const { cursor } of fgw.events.stream()) places.push(cursor);
    })();
    await expect(reading).rejects.toMatchObject({ code: 'insufficient_scope' });
    expect(places).toEqual(['b', 'b']);
    expect(seen.slice(1).every((address) => address.endsWith('?cursor=b'))).toBe(true);
  });
});

test('a hook that fails later changes nothing, and keeps what it belongs to', async () => {
  const printed = jest.spyOn(console, 'error').mockImplementation(() => undefined);
  class Log {
    readonly lines: string[] = [];

    async onResponse({ path }: { path: string }): Promise<void> {
      this.lines.push(path);
      await delay(1);
      throw new Error('the collector is away');
    }
  }
  try {
    const hooks = new Log();
    const { fgw } = clientOf([], { hooks });
    await expect(fgw.receipts.create(sale, KEYED)).resolves.toMatchObject({ status: 'registered' });
    // What is not caught would end the program.
    await until(
      'it was printed',
      () => Promise.resolve(printed.mock.calls.length),
      (calls) => calls === 2,
    );
    expect(hooks.lines).toEqual(['/oauth/token', '/v1/receipts']);
  } finally {
    printed.mockRestore();
  }
});
