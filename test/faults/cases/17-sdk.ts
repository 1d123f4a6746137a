import { generateKeyPairSync } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { FiscalGateway } from '#sdk';
import type { Chance } from '../../../apps/device-relay/src/lanes/simulation/testing/chance.js';
import { FaultProxy, type Fate, type SeenRequest } from '../../sdk/fault-proxy.js';
import type { TestSystem } from '../../system/system.js';
import { skipped, type FaultCase } from '../frame/case.js';
import { strikeAlong } from '../frame/load.js';
import { SdkLoad } from '../frame/sdk-load.js';
import { judge } from '../frame/truth.js';

/** Beyond it the SDK gives an attempt up; the proxy's slow answers come later than that. */
const ATTEMPT_TIMEOUT_MS = 2_500;
const TOO_LATE_MS = 10_000;
const SLOW_MS = 300;

/** How often each of them strikes a sale; the rest passes. Reads and tokens are struck a third as often. */
const FATES: [number, Fate][] = [
  [0.07, { kind: 'drop_request' }],
  [0.09, { kind: 'drop_answer' }],
  [0.09, { kind: 'cut_answer' }],
  [0.04, { kind: 'slow', delayMs: SLOW_MS }],
  [0.02, { kind: 'slow', delayMs: TOO_LATE_MS }],
  [0.05, { kind: 'refuse', status: 429, code: 'too_many_requests', retryAfterS: 1 }],
  [0.05, { kind: 'refuse', status: 503, code: 'service_unavailable', retryAfterS: 1 }],
  [0.05, { kind: 'refuse', status: 409, code: 'idempotency_in_progress', retryAfterS: 1 }],
  [0.04, { kind: 'page', status: 502 }],
];

/** The SDK before a gateway that is killed, slow, answers 429, 409 and 503, and is cut off in mid-answer. */
export const sdkThroughFaults: FaultCase = {
  number: '17',
  name: 'the SDK through a proxy that drops, cuts, delays and refuses, gateways killed',
  stage: 'fleet',
  full: { receipts: 2_000, strikes: 10 },
  tenth: { receipts: 200, strikes: 2 },
  quick: { receipts: 200, strikes: 1 },
  maxSeconds: 600,
  async run({ stage: { system, publicPort }, size, chance, prefix }) {
    if (publicPort === null) return skipped('the stage has no public port');
    const proxy = new FaultProxy(system.gatewayUrls, (request) => fateOf(request, chance));
    await proxy.listen(publicPort);
    try {
      const fgw = await signingClient(system, `http://127.0.0.1:${publicPort}`);
      const { tills } = system.merchant;
      const load = new SdkLoad(fgw, { prefix, chance, total: size.receipts, tills });
      const kills = await strikeAlong(load, { times: size.strikes, total: size.receipts, chance }, async (nth) => {
        const victim = system.gateways[nth % system.gateways.length];
        await delay(chance.between(0, 50));
        await victim?.end('SIGKILL');
        await victim?.start();
      });
      await load.end();
      const verdict = await judge(system, [load], { prefix, tills });
      verdict.failures.push(...complaintsAbout(proxy.seen));
      return { ...verdict, kills, figures: [summary(proxy.seen)] };
    } finally {
      await proxy.close();
    }
  },
};

function fateOf({ method, path }: SeenRequest, chance: Chance): Fate {
  const isSale = method === 'POST' && path === '/v1/receipts';
  // Keys and clients are made before the load begins.
  if (path.startsWith('/v1/clients')) return { kind: 'pass' };
  let drawn = chance.next() * (isSale ? 1 : 3);
  for (const [share, fate] of FATES) {
    drawn -= share;
    if (drawn < 0) return fate;
  }
  return { kind: 'pass' };
}

/** A client of the stage's merchant whose every write must be signed. */
async function signingClient({ merchant }: TestSystem, baseUrl: string): Promise<FiscalGateway> {
  const { clientId, clientSecret } = merchant;
  const admin = new FiscalGateway({ baseUrl, credentials: { clientId, clientSecret }, retry: { attempts: 30 } });
  const body = { name: 'signs', scopes: ['receipts:write', 'receipts:read'] as never, ip_policy: 'any' as const };
  const { id, client_secret: secret } = await admin.request('POST', '/v1/clients', { body });
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const publicPem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const key = await admin.request('POST', '/v1/clients/{id}/keys', {
    path: { id },
    body: { name: 'erp', public_key: publicPem },
  });
  return new FiscalGateway({
    baseUrl,
    credentials: { clientId: id, clientSecret: secret },
    signing: { keyId: key.id, privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() },
    attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
    retry: { attempts: 100, baseMs: 50, maxMs: 1_000, maxElapsedMs: 150_000 },
  });
}

/** What would make the run prove nothing. */
function complaintsAbout(seen: readonly SeenRequest[]): string[] {
  const sales = seen.filter(({ method, path }) => method === 'POST' && path === '/v1/receipts');
  const missing = new Set(FATES.map(([, { kind }]) => kind));
  for (const { fate } of sales) missing.delete(fate);
  const nonces = sales.map(({ headers }) => /nonce="([^"]+)"/.exec(String(headers['signature-input']))?.[1]);
  const failures = [...missing].map((kind) => `no sale met ${kind}`);
  if (nonces.includes(undefined)) failures.push('a sale was not signed');
  if (new Set(nonces).size !== nonces.length) failures.push('two attempts had one nonce');
  return failures;
}

function summary(seen: readonly SeenRequest[]): string {
  const sales = seen.filter(({ method, path }) => method === 'POST' && path === '/v1/receipts');
  const struck = sales.filter(({ fate }) => fate !== 'pass').length;
  return `${sales.length} attempts, ${struck} of them struck, each signed anew`;
}
