// Promise: whatever goes wrong on the way of a call, it is not sent more often than it may be, and its error says what has to be known.
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

describe('what is sent', () => {
  test('a key that is null is none: such a sale is not sent, and so not repeated', async () => {
    const { fgw, seen } = clientOf([lost]);
    const unnamed = { idempotencyKey: null as never };
    await expect(fgw.receipts.create(sale, unnamed)).rejects.toThrow(UsageError);
    await expect(fgw.receipts.refund('rcp_1', {}, unnamed)).rejects.toThrow(UsageError);
    await expect(fgw.payments.create(sale, unnamed)).rejects.toThrow(UsageError);
    expect(seen).toEqual([]);
  });
});
