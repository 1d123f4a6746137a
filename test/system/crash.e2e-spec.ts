// Promise: whatever dies at whatever instant, no receipt is lost, none is doubled, and each lane keeps its order.
import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { startOwnServer } from '../../libs/database/src/testing/index.js';
import { sql } from './database.js';
import { allRegistered, expectEachExactlyOnce, setFaults, storedReceipts, type StoredReceipt } from './ground-truth.js';
import { sellStubbornly, sellUntil, type Sold } from './load.js';
import { startSystem, type TestSystem } from './system.js';
import { until } from './until.js';

jest.setTimeout(120_000);

const TILLS = 3;
/** Short deadlines, so that what was lost is noticed within the test. */
const IMPATIENT = { sendTimeoutMs: 2_500, callTimeoutMs: 2_500, settleMs: 500 };

/** Everybody who was told has one receipt under his key, it is registered, and the outside world agrees. */
async function expectAllHealed(system: TestSystem, sold: readonly Sold[]): Promise<StoredReceipt[]> {
  const receipts = await allRegistered(system);
  const byKey = new Map(receipts.map((receipt) => [receipt.idempotency_key, receipt]));
  expect(byKey.size).toBe(receipts.length);
  for (const { key, answer } of sold) expect(byKey.get(key)?.id).toBe(answer.body.id);
  await expectEachExactlyOnce(system, receipts);
  return receipts;
}

describe('with two gateways, two relays and three registers', () => {
  let system: TestSystem;

  beforeAll(async () => {
    system = await startSystem({ registers: TILLS, gateways: 2, relays: 2, profile: IMPATIENT });
  }, 90_000);

  afterAll(() => system?.stop(), 60_000);

  test('gateways killed in mid-POST: each key one receipt', async () => {
    const { client, gateways } = system;
    let kills = 0;
    const selling = sellUntil(client, { tills: TILLS, perTill: 3 }, () => kills >= 5);
    while (kills < 5) {
      await delay(150 + Math.random() * 150);
      const victim = gateways[kills % 2];
      await victim?.end('SIGKILL');
      kills += 1;
      await victim?.start();
    }
    const sold = await selling;
    expect(sold.some(({ tries }) => tries > 1)).toBe(true);
    await expectAllHealed(system, sold);
  });

  test('relays killed twenty times during 300 receipts: 0 lost, 0 doubled, in the order of posting', async () => {
    const { client, relays } = system;
    const sold: Sold[] = [];
    const starting: (Promise<void> | undefined)[] = [];
    for (let kill = 0; kill < 20; kill += 1) {
      const victim = relays[kill % 2];
      await starting[kill - 2];
      const posted = Array.from({ length: TILLS }, async (_, till) => {
        const mine: Sold[] = [];
        // One after the other: the next is posted when the one before was answered.
        for (let index = 0; index < 5; index += 1) {
          mine.push(await sellStubbornly(client, { till, prefer: 'respond-async' }));
        }
        return mine;
      });
      await delay(Math.random() * 120);
      await victim?.end('SIGKILL');
      starting.push(victim?.start());
      for (const mine of posted) sold.push(...(await mine));
    }
    for (const start of starting) await start;
    expect(sold).toHaveLength(300);
    const receipts = await expectAllHealed(system, sold);
    const placeOf = new Map(receipts.map(({ id }, place) => [id, place]));
    for (let till = 0; till < TILLS; till += 1) {
      const places = sold
        .filter((one) => one.till === till)
        .map(({ answer }) => placeOf.get(answer.body.id ?? '') ?? -1);
      // And expectEachExactlyOnce has shown that the registers' sequence follows the places.
      expect(places).toEqual([...places].sort((left, right) => left - right));
    }
  });

  test('PostgreSQL sessions terminated under load', async () => {
    const { client, database } = system;
    let rounds = 0;
    const selling = sellUntil(client, { tills: TILLS, perTill: 3 }, () => rounds >= 8);
    while (rounds < 8) {
      await delay(300);
      await sql(
        database,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid()`,
      );
      rounds += 1;
    }
    await expectAllHealed(system, await selling);
  });

  test.each([
    ['drop_request', 'its request was lost'],
    ['drop_answer', 'its answer was lost'],
    ['error_after', 'the register registered and answered 500'],
    ['late_answer', 'the answer came after the deadline'],
    ['late_request', 'the request was asleep on its way'],
  ])('%s: %s → resolved by key', async (fault) => {
    const { client } = system;
    await setFaults(system, [{ fault, next: 1, delay_ms: IMPATIENT.sendTimeoutMs + 1_500 }]);
    const sold = await Promise.all(
      Array.from({ length: TILLS }, (_, till) => sellStubbornly(client, { till, prefer: 'wait=40' })),
    );
    for (const { answer } of sold)
      expect(answer.body).toMatchObject({ status: 'registered', fiscal: { fiscal_sign: expect.stringMatching(/./) } });
    await expectAllHealed(system, sold);
  });

  test('a storm of lost and refused answers at all registers', async () => {
    const { client } = system;
    await setFaults(system, [
      ...['drop_request', 'drop_answer', 'error_after'].map((fault) => ({ fault, rate: 0.15 })),
      { fault: 'refuse', code: 'F-003', rate: 0.05 },
      { fault: 'refuse', code: 'S-004', rate: 0.1 },
    ]);
    let enough = false;
    const selling = sellUntil(client, { tills: TILLS, perTill: 2, prefer: 'respond-async' }, () => enough);
    await until(
      'many receipts wait for their registers',
      async () => (await storedReceipts(system)).filter(({ status }) => status !== 'registered').length,
      (count) => count >= 30,
    );
    enough = true;
    const sold = await selling;
    await delay(2_000);
    await setFaults(system, []);
    await expectAllHealed(system, sold);
  });

  test('a rolling restart by SIGTERM: no call fails', async () => {
    const { client, gateways, relays } = system;
    let done = false;
    const selling = sellUntil(client, { tills: TILLS, perTill: 3, prefer: 'wait=20' }, () => done);
    for (const program of [...gateways, ...relays]) {
      await program.end('SIGTERM');
      expect({ program: program.name, exitCode: program.exitCode }).toEqual({ program: program.name, exitCode: 0 });
      await program.start();
    }
    done = true;
    const sold = await selling;
    expect(sold.filter(({ answer }) => answer.status !== 201)).toEqual([]);
    // Who is refused a connection asks the other gateway, as a balancer does; so does who wrote on a kept connection in
    // the moment in which it was closed. Nobody is answered with an error.
    const setbacks = new Set(sold.flatMap((one) => one.setbacks));
    for (const code of ['ECONNREFUSED', 'ECONNRESET', 'UND_ERR_SOCKET']) setbacks.delete(code);
    expect([...setbacks]).toEqual([]);
    await expectAllHealed(system, sold);
  });
});

test('everything killed at once, the database too, and started again on the same data', async () => {
  const server = await startOwnServer();
  const urls = await server.migratedDatabase();
  const database = { ...urls, adminUrl: adminUrlOf(server.adminUrl, urls.url), drop: () => server.remove() };
  const system = await startSystem({ database, registers: 2, gateways: 1, relays: 2, profile: IMPATIENT });
  try {
    const { client, gateways, relays, register } = system;
    let done = false;
    const selling = sellUntil(client, { tills: 2, perTill: 2, prefer: 'wait=2' }, () => done);
    await until(
      'some are sold',
      async () => (await storedReceipts(system)).length,
      (count) => count >= 20,
    );
    // From now on both registers have registered and not answered yet: attempts are open when everything dies.
    await setFaults(system, [{ fault: 'late_answer', delay_ms: 60_000 }]);
    await until(
      'both lanes have an open attempt',
      async () => (await storedReceipts(system)).filter((receipt) => receipt.open_attempts > 0).length,
      (count) => count === 2,
    );
    const programs = [...gateways, ...relays, register];
    await Promise.all([server.kill(), ...programs.map((program) => program.end('SIGKILL'))]);
    await server.restart();
    const [left, before] = [await storedReceipts(system), new Set<string>()];
    for (const receipt of left) before.add(receipt.id);
    expect(left.filter((receipt) => receipt.open_attempts > 0)).toHaveLength(2);
    await Promise.all(programs.map((program) => program.start()));
    done = true;
    const sold = await selling;
    const receipts = await expectAllHealed(system, sold);
    for (const id of before) expect(receipts.some((receipt) => receipt.id === id)).toBe(true);
    const resolved = await sql<{ evidence: string }>(
      database,
      "SELECT DISTINCT evidence::text FROM receipts WHERE evidence <> 'answer'",
    );
    expect(resolved).toEqual([{ evidence: 'journal' }]);
  } finally {
    await system.stop();
  }
});

/** The superuser's URL of the migrated database. */
function adminUrlOf(adminUrl: string, url: string): string {
  const admin = new URL(adminUrl);
  admin.pathname = new URL(url).pathname;
  return admin.href;
}
