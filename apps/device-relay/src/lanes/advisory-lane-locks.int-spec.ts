// Promise: a lane is in one relay's hands at a time; a dead session frees it at once and its holder learns of it.
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { createLogger } from '#runtime';
import { behindDelay, type DelayingProxy } from '../../../../test/system/delaying-proxy.js';
import { standStill } from '../../../../libs/runtime/src/testing/stand-still.js';
import { untilTrue } from '../../../../libs/runtime/src/testing/until.js';
import { lineTo, type TcpProxy } from '../../../../test/system/tcp-proxy.js';
import { AdvisoryLaneLocks } from './advisory-lane-locks.js';
import { isDue } from './drain-lane.js';
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
    [a, b] = [newLocks(), newLocks()];
    a.onApplicationBootstrap();
    b.onApplicationBootstrap();
    await untilTrue(() => a.isConnected && b.isConnected, 'the sessions are as expected');
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
    await untilTrue(() => !held.isHeld(), 'the sessions are as expected');
    const taken = (await b.tryTake(LANE))!;
    expect(taken).not.toBeNull();
    await held.release();
    expect(taken.isHeld()).toBe(true);
    expect(await rows.locksHeldBy(taken)).toBe(1);
    await untilTrue(() => a.isConnected, 'the sessions are as expected');
    expect(await a.tryTake(LANE)).toBeNull();
    await taken.release();
    expect(await a.tryTake(LANE)).not.toBeNull();
  });
});

test('a relay that stood still for seconds holds nothing until its session has answered again', () =>
  withLocksBehind(0, async (locks) => {
    const held = (await locks.tryTake(79_101))!;
    expect(held.isHeld()).toBe(true);
    standStill(5_500);
    expect(held.isHeld()).toBe(false);
    await untilTrue(() => held.isHeld(), 'it has answered');
    await held.release();
  }));

describe('a lane that is released and asked about', () => {
  let locks: AdvisoryLaneLocks;
  let ofDevice: number;

  beforeAll(async () => {
    locks = newLocks();
    locks.onApplicationBootstrap();
    await untilTrue(() => locks.isConnected, 'the session is there');
    ofDevice = (await rows.ours.lockNumberOf(rows.deviceId))!;
  });

  beforeEach(async () => {
    await rows.sql.query(`DELETE FROM attempts; DELETE FROM receipts`);
    await rows.sql.query(`UPDATE lanes SET due_at = NULL, settling_relay = NULL, settle_until = NULL`);
    await rows.sql.query(`UPDATE devices SET state = 'online'`);
  });

  afterAll(() => locks.onApplicationShutdown());

  const releasedAndAsked = async (): Promise<boolean | null> => {
    const held = (await locks.tryTake(ofDevice))!;
    const isDueThere = await held.releaseAndAsk();
    expect(await rows.locksHeldBy(held)).toBe(0);
    return isDueThere;
  };
  const soon = "now() + interval '1 hour'";
  const ago = "now() - interval '1 hour'";

  test.each([
    ['nothing waits', '', false],
    ['it waits for its time', `UPDATE lanes SET due_at = ${soon}`, false],
    ['its time has come', `UPDATE lanes SET due_at = ${ago}`, true],
    ['nothing keeps it', 'SELECT 1', true],
    ['it is settled by this relay', `UPDATE lanes SET settling_relay = 'rly_ours', settle_until = ${soon}`, true],
    ['it is settled by another one', `UPDATE lanes SET settling_relay = 'rly_x', settle_until = ${soon}`, false],
    ['another one has just settled it', `UPDATE lanes SET settling_relay = 'rly_x', settle_until = now()`, false],
    ['another one began to and died', `UPDATE lanes SET settling_relay = 'rly_x', settle_until = ${ago}`, true],
    ['its register is out of order', `UPDATE devices SET state = 'unreachable'`, true],
    ['its register was disabled', `UPDATE devices SET state = 'disabled'`, false],
    ['its register was replaced', `UPDATE devices SET state = 'replaced'`, false],
    ['its register is claimed elsewhere', `UPDATE devices SET state = 'claimed_elsewhere'`, false],
  ])('is due as the lane that is read: %s', async (_name, statement, expected) => {
    if (statement !== '') await rows.createReceipt();
    await rows.sql.query(statement);
    expect(isDue(await rows.ours.read(rows.deviceId, 1))).toBe(expected);
    expect(await releasedAndAsked()).toBe(expected);
  });

  test('is not due by a claim that its attempt has left behind', async () => {
    await rows.sql.query(
      `INSERT INTO attempt_claims (device_id, attempt_id, receipt_id, created_at) VALUES ($1, 'att_gone', 'rcp_gone', now())`,
      [rows.deviceId],
    );
    try {
      expect(isDue(await rows.ours.read(rows.deviceId, 1))).toBe(false);
      expect(await releasedAndAsked()).toBe(false);
    } finally {
      await rows.sql.query('DELETE FROM attempt_claims');
    }
  });

  test('is due where an attempt is open', async () => {
    await rows.holdLane();
    expect(await rows.ours.openAttempt(rows.intent(await rows.createReceipt()))).toBe('opened');
    await rows.session.end();
    expect(await releasedAndAsked()).toBe(true);
  });

  test('is asked about as it is after its release, not as it was before', async () => {
    const slow = new pg.Client({ connectionString: rows.database.adminUrl });
    await slow.connect();
    try {
      // Between the release and the question, others come with a receipt and find the lane free.
      await slow.query(`CREATE SCHEMA slow;
        CREATE FUNCTION slow.pg_advisory_unlock(a integer, b integer) RETURNS boolean LANGUAGE plpgsql AS $$
          BEGIN PERFORM pg_sleep(0.5); RETURN true; END $$;
        SET search_path = slow, pg_catalog, public`);
      const asked = slow.query<{ is_due: boolean }>("SELECT release_lane(1, $1, 'rly_ours', 10) AS is_due", [ofDevice]);
      await delay(100);
      await rows.createReceipt();
      expect((await asked).rows).toEqual([{ is_due: true }]);
    } finally {
      await slow.query('DROP SCHEMA slow CASCADE');
      await slow.end();
    }
  });

  test('is not asked about while a table is being changed: no lane waits for that', async () => {
    await rows.createReceipt();
    const migration = new pg.Client({ connectionString: rows.database.adminUrl });
    await migration.connect();
    try {
      await migration.query('BEGIN; LOCK TABLE receipts IN ACCESS EXCLUSIVE MODE');
      expect(await releasedAndAsked()).toBeNull();
    } finally {
      await migration.query('ROLLBACK');
      await migration.end();
    }
    expect(locks.isConnected).toBe(true);
    expect(await releasedAndAsked()).toBe(true);
  });

  test('is not asked about where the session is gone', async () => {
    const held = (await locks.tryTake(ofDevice))!;
    await terminate(held.backendPid);
    await untilTrue(() => !held.isHeld(), 'its holder knows');
    expect(await held.releaseAndAsk()).toBeNull();
    await untilTrue(() => locks.isConnected, 'the next session is there');
  });
});

describe('a database that is 10 ms away', () => {
  test('lanes that are taken and released together share round trips', () =>
    withLocksBehind(10, async (locks, proxy) => {
      const lanes = Array.from({ length: 300 }, (_, index) => 78_000 + index);
      const before = proxy.sent;
      const held = await Promise.all(lanes.map((lane) => locks.tryTake(lane)));
      const taken = held.filter((laneLock) => laneLock !== null);
      expect(taken).toHaveLength(lanes.length);
      expect(await rows.locksHeldBy(held[0]!)).toBe(lanes.length);
      await Promise.all(taken.map((laneLock) => laneLock.release()));
      expect(await rows.locksHeldBy(held[0]!)).toBe(0);
      // One statement for each lane would be 600.
      expect(proxy.sent - before).toBeLessThan(30);
    }));
});

test('the session is asked each second while a lane is in hand, and every five while none is', () =>
  withLocksBehind(0, async (locks, proxy) => {
    const connected = proxy.sent;
    await untilTrue(() => proxy.sent > connected, 'it was asked once');
    const asked = proxy.sent;
    await delay(3_500);
    expect(proxy.sent - asked).toBeLessThanOrEqual(1);
    const held = await locks.tryTake(79_001);
    const taken = proxy.sent;
    // At rest that would take ten seconds.
    await untilTrue(() => proxy.sent >= taken + 3, 'it was asked three times', 9_000);
    await held?.release();
  }));

describe('a connection on which nothing comes any more', () => {
  let proxy: TcpProxy;
  let lineUrl: string;

  beforeEach(async () => {
    const { line, url } = await lineTo(rows.database.url);
    proxy = line;
    url.searchParams.delete('connect_timeout');
    lineUrl = url.href;
  });

  afterEach(() => proxy.close());

  test('its holder gives it up, connects anew and ends what the lost session still holds', async () => {
    const locks = newLocks(lineUrl);
    locks.onApplicationBootstrap();
    try {
      await untilTrue(() => locks.isConnected, 'the session is there');
      const held = (await locks.tryTake(80_001))!;
      proxy.deafen();
      await untilTrue(() => !held.isHeld(), 'the silent session is given up');
      // The server's side of it lives on: it was not notified.
      await untilTrue(async () => (await rows.locksHeldBy(held)) === 0, 'the lost session is ended');
      await held.release();
      await untilTrue(() => locks.isConnected, 'the next session is there');
      expect(await locks.tryTake(80_001)).not.toBeNull();
    } finally {
      await locks.onApplicationShutdown();
    }
  });

  test.each([
    ['while the database is compared', (client: pg.Client) => client.query('SELECT 1').then(() => undefined)],
    ['before it is closed', () => Promise.reject(new Error('not this one'))],
  ])('one that falls silent before its first use, %s, is followed by another', async (_when, goOn) => {
    let sessions = 0;
    const beforeUse = async (client: pg.Client): Promise<void> => {
      sessions += 1;
      if (sessions > 1) return;
      proxy.deafen();
      await goOn(client);
    };
    const settings = { databaseUrl: lineUrl, relayId: 'rly_ours', beforeUse };
    const locks = new AdvisoryLaneLocks(settings, createLogger('test', 'silent'));
    locks.onApplicationBootstrap();
    try {
      await untilTrue(() => locks.isConnected, 'the next session is there');
    } finally {
      await locks.onApplicationShutdown();
    }
  });
});

describe('a lock statement that fails', () => {
  const TAKE = 'FUNCTION pg_try_advisory_lock(int, int)';

  test('no lane is taken, and what the statement may have locked is given up with its session', async () => {
    const admin = new pg.Client({ connectionString: rows.database.adminUrl });
    await admin.connect();
    const locks = newLocks();
    locks.onApplicationBootstrap();
    try {
      await untilTrue(() => locks.isConnected, 'the session is there');
      const before = (await locks.tryTake(79_001))!;
      await admin.query(`REVOKE EXECUTE ON ${TAKE} FROM PUBLIC`);
      expect(await locks.tryTake(79_002)).toBeNull();
      expect(before.isHeld()).toBe(false);
      await untilTrue(async () => (await rows.locksHeldBy(before)) === 0, 'the session has ended');
      await admin.query(`GRANT EXECUTE ON ${TAKE} TO PUBLIC`);
      await untilTrue(() => locks.isConnected, 'the next session is there');
      await before.release();
      expect(await locks.tryTake(79_001)).not.toBeNull();
    } finally {
      await admin.query(`GRANT EXECUTE ON ${TAKE} TO PUBLIC`);
      await admin.end();
      await locks.onApplicationShutdown();
    }
  });
});

function newLocks(databaseUrl = rows.database.url): AdvisoryLaneLocks {
  return new AdvisoryLaneLocks({ databaseUrl, relayId: 'rly_ours' }, createLogger('test', 'silent'));
}

/** Connected through a line that counts what is sent. */
async function withLocksBehind(
  roundTripMs: number,
  work: (locks: AdvisoryLaneLocks, proxy: DelayingProxy) => Promise<void>,
): Promise<void> {
  const line = await behindDelay(rows.database.url, roundTripMs);
  const locks = newLocks(line.url);
  locks.onApplicationBootstrap();
  try {
    await untilTrue(() => locks.isConnected, 'the session is there');
    await work(locks, line.proxy);
  } finally {
    await locks.onApplicationShutdown();
    await line.close();
  }
}

async function terminate(pid: number): Promise<void> {
  const admin = new pg.Client({ connectionString: rows.database.adminUrl });
  await admin.connect();
  try {
    await admin.query('SELECT pg_terminate_backend($1)', [pid]);
  } finally {
    await admin.end();
  }
}
