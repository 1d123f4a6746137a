// Promise: a request that is sent again is answered with its receipt, by the gateway that took it and by any other, and by what is stored.
import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import fc from 'fast-check';
import { createFastifyNestApp } from '#http';
import { createLogger, Metrics, newId } from '#runtime';
import { GatewayModule } from '../gateway.module.js';
import { testGatewaySettings } from '../testing/gateway-settings.js';
import { RecentRequests } from './recent-requests.js';
import { SalesFixture, type SalesAnswer } from './testing/sales-fixture.js';

const logger = createLogger('gateway', 'error', { write: () => undefined });

let fixture: SalesFixture;
let other: NestFastifyApplication;
/** The gateway that takes the receipts, and one on the same database that has not seen them. */
let bases: [string, string];

beforeAll(async () => {
  fixture = await SalesFixture.start();
  const settings = testGatewaySettings(fixture.gateway.database);
  other = await createFastifyNestApp(GatewayModule.create(settings, logger, new Metrics('gateway')), {
    logger,
    trustedProxies: settings.TRUSTED_PROXIES,
  });
  await other.listen(0, '127.0.0.1');
  const { port } = other.getHttpServer().address() as AddressInfo;
  bases = [fixture.gateway.base, `http://127.0.0.1:${port}`];
});

afterAll(async () => {
  await other?.close();
  await fixture?.stop();
});

interface RequestKeys {
  key?: string;
  token?: string;
}

async function post(
  base: string,
  body: object,
  { key, token = fixture.token }: RequestKeys = {},
): Promise<SalesAnswer> {
  const headers: Record<string, string> = { 'content-type': 'application/json', prefer: 'respond-async' };
  if (key !== undefined) headers['idempotency-key'] = key;
  const init = {
    method: 'POST',
    headers: { ...headers, authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  };
  const response = await fetch(`${base}/v1/receipts`, init);
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as SalesAnswer['body'],
  };
}

const saleOf = (more: object = {}): Record<string, unknown> => fixture.saleOf([fixture.item('bread', 1_000, 1)], more);
const outcomeOf = ({ status, headers, body }: SalesAnswer): unknown[] => [
  ...[status, headers.get('idempotency-replayed'), body.code ?? body.id],
];

/** Grows whenever a row is tried to be written, also in vain. */
async function lanePlace(): Promise<bigint> {
  const [row] = await fixture.gateway.prisma.$queryRaw<{ last_value: bigint }[]>`SELECT last_value FROM lane_place_seq`;
  return row?.last_value ?? 0n;
}

async function archiveCashier(archived: boolean): Promise<void> {
  await fixture.gateway.prisma.$executeRaw`
    UPDATE cashiers SET archived_at = CASE WHEN ${archived} THEN now() END WHERE code = 'anna'`;
}

describe.each([
  ['key', (id: string) => ({ key: id, body: saleOf() })],
  ['external id', (id: string) => ({ body: saleOf({ external_id: id }) })],
  ['key and external id', (id: string) => ({ key: `k-${id}`, body: saleOf({ external_id: id }) })],
])('known by its %s', (_name, requestOf) => {
  test('the same receipt, here without an attempt to write it, elsewhere too, also when the sale would now be refused', async () => {
    const { body, ...keys } = requestOf(newId('evt'));
    const first = await post(bases[0], body, keys);
    expect(outcomeOf(first)).toEqual([202, null, first.body.id]);
    const replay = [202, 'true', first.body.id];
    const before = await lanePlace();
    expect(outcomeOf(await post(bases[0], body, keys))).toEqual(replay);
    expect(await lanePlace()).toBe(before);
    await archiveCashier(true);
    for (const base of bases) expect(outcomeOf(await post(base, body, keys))).toEqual(replay);
    await archiveCashier(false);
    await fixture.register(first.body.id);
    // The second gateway has cached it by now; its present state is read anew.
    for (const base of bases) {
      const again = await post(base, body, keys);
      expect([...outcomeOf(again), again.body.status]).toEqual([201, 'true', first.body.id, 'registered']);
    }
  });

  test('another body is refused, by whichever gateway', async () => {
    const { body, ...keys } = requestOf(newId('evt'));
    expect((await post(bases[0], body, keys)).status).toBe(202);
    for (const base of bases) {
      const answer = await post(base, { ...body, metadata: { changed: 'yes' } }, keys);
      expect(outcomeOf(answer)).toEqual([422, null, 'idempotency_mismatch']);
    }
  });
});

test('a key and an external id of two receipts are refused, whatever is cached of either', async () => {
  const [one, two] = [saleOf({ external_id: newId('evt') }), saleOf({ external_id: newId('evt') })];
  const key = newId('evt');
  await post(bases[0], one, { key });
  await post(bases[0], two);
  for (const base of bases)
    expect(outcomeOf(await post(base, two, { key }))).toEqual([422, null, 'idempotency_mismatch']);
});

test('a key is the client’s own, an external id the merchant’s own', async () => {
  const body = saleOf({ external_id: newId('evt') });
  const key = newId('evt');
  const first = await post(bases[0], body, { key });
  const colleague = await fixture.gateway.createToken(fixture.gateway.merchantId, ['receipts:write']);
  expect(outcomeOf(await post(bases[0], body, { token: colleague }))).toEqual([202, 'true', first.body.id]);
  const theirs = await post(bases[0], saleOf(), { key, token: colleague });
  expect([theirs.status, theirs.headers.get('idempotency-replayed')]).toEqual([202, null]);
  expect(theirs.body.id).not.toBe(first.body.id);
});

test('a cached entry is a hint: another receipt’s id, or one that is gone, changes no answer', async () => {
  const recent = fixture.gateway.app.get(RecentRequests, { strict: false });
  const { merchantId } = fixture.gateway;
  const request = { id: '', clientId: '', operation: 'receipts', bodyHash: Buffer.alloc(32) };
  const [mine, others] = [await post(bases[0], saleOf()), newId('rcp')];
  for (const wrong of [mine.body.id, others]) {
    const externalId = newId('evt');
    recent.store({ ...request, merchantId, idempotencyKey: null, externalId }, wrong);
    const body = saleOf({ external_id: externalId });
    const made = await post(bases[0], body);
    expect([made.status, made.headers.get('idempotency-replayed')]).toEqual([202, null]);
    expect([mine.body.id, others]).not.toContain(made.body.id);
    expect(outcomeOf(await post(bases[0], body))).toEqual([202, 'true', made.body.id]);
  }
});

test('without a key and an external id every sale is a new one', async () => {
  const [one, two] = [await post(bases[0], saleOf()), await post(bases[0], saleOf())];
  expect([one.status, two.status]).toEqual([202, 202]);
  expect(one.body.id).not.toBe(two.body.id);
});

/** By which names a sale of a small world goes, and which of two bodies it has. */
const NAMED = fc
  .record({
    key: fc.constantFrom(undefined, 'k1', 'k2'),
    external: fc.constantFrom(undefined, 'e1', 'e2'),
    isChanged: fc.boolean(),
  })
  .filter(({ key, external }) => key !== undefined || external !== undefined);
type Named = typeof NAMED extends fc.Arbitrary<infer Of> ? Of : never;

test('the cache and the unique indexes give the same answers, whatever was asked before', async () => {
  const seen = new Set<unknown>();
  const requests = fc.array(NAMED, { minLength: 3, maxLength: 6 });
  const repeats = fc.uniqueArray(NAMED, { minLength: 3, maxLength: 6, selector: (one) => JSON.stringify(one) });
  await fc.assert(
    fc.asyncProperty(requests, repeats, async (first, again) => {
      const world = newId('evt');
      const ask = (base: string, { key, external, isChanged }: Named): Promise<SalesAnswer> => {
        const named = external !== undefined && { external_id: `${world}-${external}` };
        const body = saleOf({ ...named, ...(isChanged && { metadata: { changed: 'yes' } }) });
        return post(base, body, key === undefined ? {} : { key: `${world}-${key}` });
      };
      const taken = new Set<string>();
      for (const request of first) {
        const { status, headers } = await ask(bases[0], request);
        // What is replayed keeps the names that it was made with.
        const isMade = status === 202 && !headers.has('idempotency-replayed');
        if (isMade) for (const name of [request.key, request.external]) if (name) taken.add(name);
      }
      // Of the others one gateway would make a receipt, and the other one replay it.
      const known = again.filter(({ key = '', external = '' }) => taken.has(key) || taken.has(external));
      for (const request of known) {
        const cached = outcomeOf(await ask(bases[0], request));
        expect([request, outcomeOf(await ask(bases[1], request))]).toEqual([request, cached]);
        seen.add(cached[0]);
      }
    }),
    { numRuns: 25 },
  );
  expect(seen).toEqual(new Set([202, 422]));
});
