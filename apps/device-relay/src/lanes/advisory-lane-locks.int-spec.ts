// Promise: a lane is in one relay's hands at a time; a dead session frees it at once and its holder learns of it.
import pg from 'pg';
import { createLogger } from '#runtime';
import { until } from '../../../../libs/queue/src/testing/until.js';
import { AdvisoryLaneLocks } from './advisory-lane-locks.js';
import { LaneRows } from './testing/lane-rows.js';

let rows: LaneRows;

beforeAll(async () => {
  rows = await LaneRows.start();
});

afterAll(() => rows?.stop());

describe('two relays and the lane lock', () => {
  let a: AdvisoryLaneLocks;
  let b: AdvisoryLaneLocks;
  const LANE = 77_001;

  beforeEach(async () => {
    [a, b] = [locks(), locks()];
    a.onApplicationBootstrap();
    b.onApplicationBootstrap();
    await until(() => a.isConnected && b.isConnected, 'the sessions are as expected');
  });

  afterEach(async () => {
    await a.onApplicationShutdown();
    await b.onApplicationShutdown();
  });

  test('one has it; the other, and the one itself again, have not', async () => {
    const held = await a.tryTake(LANE);
    expect(held).toMatchObject({ lockNumber: LANE });
    expect(await b.tryTake(LANE)).toBeNull();
    expect(await a.tryTake(LANE)).toBeNull();
    expect(await rows.locksHeldBy(held!)).toBe(1);
    await held?.release();
    const taken = await b.tryTake(LANE);
    expect(taken).not.toBeNull();
    expect(await a.tryTake(LANE)).toBeNull();
    await taken?.release();
    expect(await rows.locksHeldBy(taken!)).toBe(0);
  });

  test('of many who try at once one gets it', async () => {
    const tries = await Promise.all([a, b, a, b, a, b].map((each) => each.tryTake(LANE)));
    expect(tries.filter((each) => each !== null)).toHaveLength(1);
  });

  test('lanes do not hinder each other', async () => {
    const [first, second] = [await a.tryTake(LANE), await b.tryTake(LANE + 1)];
    expect(first && second).not.toBeNull();
  });

  test('a session that the server ends: the lock is free, its holder knows, releases in vain and connects anew', async () => {
    const held = (await a.tryTake(LANE))!;
    expect(held.isHeld()).toBe(true);
    await terminate(held.backendPid);
    await until(() => !held.isHeld(), 'the sessions are as expected');
    const taken = (await b.tryTake(LANE))!;
    expect(taken).not.toBeNull();
    await held.release();
    expect(taken.isHeld()).toBe(true);
    expect(await rows.locksHeldBy(taken)).toBe(1);
    await until(() => a.isConnected, 'the sessions are as expected');
    expect(await a.tryTake(LANE)).toBeNull();
    await taken.release();
    expect(await a.tryTake(LANE)).not.toBeNull();
  });

  function locks(): AdvisoryLaneLocks {
    return new AdvisoryLaneLocks({ databaseUrl: rows.database.url }, createLogger('test', 'silent'));
  }
});

async function terminate(pid: number): Promise<void> {
  const admin = new pg.Client({ connectionString: rows.database.adminUrl });
  await admin.connect();
  try {
    await admin.query('SELECT pg_terminate_backend($1)', [pid]);
  } finally {
    await admin.end();
  }
}
