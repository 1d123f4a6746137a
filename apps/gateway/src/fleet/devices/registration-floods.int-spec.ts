// Promise: a merchant that registers many at once is answered within limits, and leaves the others their connections.
import 'reflect-metadata';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { untilTrue } from '../../../../../libs/runtime/src/testing/until.js';
import { FleetFixture } from './testing/fleet-fixture.js';

/** "DV", the first key of the lock (tried-out-devices.ts). */
const COUNT_LOCK_SPACE = 17_494;

let fleet: FleetFixture;

beforeAll(async () => {
  fleet = await FleetFixture.start({ maxDevices: 40 });
});

afterAll(() => fleet?.stop());

test('a flood is answered with 429 and the rest goes on; beyond the limit 422', async () => {
  const relay = fleet.answerTasks(() => ({ kind: 'failed', code: 'S-001', detail: 'no' }));
  const flood = await Promise.all(
    Array.from({ length: 60 }, () => fleet.ask('POST', '/v1/devices', fleet.deviceBody())),
  );
  await relay.stop();
  const codes = new Set(flood.map(({ body }) => body.code));
  expect([...codes].sort()).toEqual(['device_key_refused', 'too_many_requests']);
  expect(flood.filter(({ status }) => status === 429).every(({ headers }) => headers.has('retry-after'))).toBe(true);

  const { merchantId, token } = await fleet.stranger();
  for (let made = 0; made < 40; made += 1) await fleet.gateway.createDevice({ merchantId });
  const beyond = await fleet.ask('POST', '/v1/devices', fleet.deviceBody(), token);
  expect(beyond).toMatchObject({ status: 422, body: { code: 'device_limit_reached' } });
});

test('while a merchant’s lock is held, one connection waits for it, and all are answered', async () => {
  const { merchantId, token } = await fleet.stranger();
  const holder = new pg.Client({ connectionString: fleet.gateway.database.ownerUrl });
  await holder.connect();
  try {
    await holder.query('SELECT pg_advisory_lock($1::int, hashtext($2))', [COUNT_LOCK_SPACE, merchantId]);
    const ways = [{}, { transport: 'link', base_url: null }];
    const flood = Array.from({ length: 10 }, () => ways).flat();
    const answered = Promise.all(flood.map((way) => fleet.ask('POST', '/v1/devices', fleet.deviceBody(way), token)));
    await untilTrue(async () => (await waitersIn(holder)) > 0);
    // Longer than a transaction waits for a connection.
    const until = performance.now() + 2_500;
    const seen = new Set<number>();
    while (performance.now() < until) {
      seen.add(await waitersIn(holder));
      expect((await fleet.ask('GET', '/v1/devices?limit=1')).status).toBe(200);
      await delay(100);
    }
    // On a slow machine its patience may be over before the loop is.
    expect(Math.max(...seen)).toBe(1);
    const codes = (await answered).map(({ body }) => body.code);
    // The one that waited itself may get the other answer.
    expect(new Set(codes.filter((code) => code !== 'service_unavailable'))).toEqual(new Set(['too_many_requests']));
  } finally {
    await holder.end();
  }
});

async function waitersIn(session: pg.Client): Promise<number> {
  const { rows } = await session.query<{ waiting: number }>(
    `SELECT count(*)::int AS waiting FROM pg_locks
      WHERE locktype = 'advisory' AND NOT granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
  );
  return rows[0]?.waiting ?? 0;
}
