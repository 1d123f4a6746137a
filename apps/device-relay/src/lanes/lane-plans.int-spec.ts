// Promise: what a lane costs does not depend on what waits in others, on what the planner assumes, or on a snapshot that stays open.
import pg from 'pg';
import { SalesDatabase } from '#database';
import { createQuietDatabase, indexNames, makeHalfYears, plansInside, visitedRows } from '#database/testing';
import type { Registration } from '#fiscal-domain';
import type { CloseRegistered, Intent } from '#ledger';
import { FailoverRepository } from '../failover/failover.repository.js';
import { OfdRepository } from '../ofd-watch/ofd.repository.js';
import { Chance } from './simulation/testing/chance.js';
import { LaneRepository } from './lane.repository.js';
import type { LaneLockHandle } from './ports.js';
import { countGroups } from './testing/count-groups.js';
import { BASELINE, LaneRows, receiptIdOf } from './testing/lane-rows.js';

const LANES = 40;
const FOREIGN = 20_000;
/** Entries of indexes and rows that one statement of a lane may visit, what this test has left in the lane included; of others there are 40 000. */
const FEW = 250;
/** The same of a question about all lanes, for each of them; 500 wait there. */
const PER_LANE = 20;

let rows: LaneRows;
let admin: pg.Client;
let prisma: SalesDatabase;
let lane: LaneRepository;
let groups: () => number;

beforeAll(async () => {
  // What is dead is visited while any transaction of the server is older: also of the tests that run beside this one.
  rows = await LaneRows.start(createQuietDatabase);
  admin = new pg.Client({ connectionString: rows.database.adminUrl });
  await admin.connect();
  for (const table of await filesOf(['receipts', 'attempts', 'attempt_claims']))
    await admin.query(`ALTER TABLE ${table} SET (autovacuum_enabled = off)`);
  await rows.holdLane();
  for (let index = 0; index < LANES; index += 1) await rows.createDevice(`dev_other_${index}`);
});

afterAll(async () => {
  await rows?.session.end();
  await prisma?.$disconnect();
  await admin?.end();
  await rows?.stop();
});

/** Tables as they are stored: the partitions of one that has some. */
async function filesOf(tables: readonly string[]): Promise<string[]> {
  const { rows: files } = await admin.query<{ name: string }>(
    `SELECT coalesce(i.inhrelid, t.oid)::regclass::text AS name
       FROM unnest($1::text[]) AS given, LATERAL (SELECT given::regclass::oid AS oid) t LEFT JOIN pg_inherits i ON i.inhparent = t.oid`,
    [tables],
  );
  return files.map(({ name }) => name);
}

/** Entries of indexes and rows of sequential scans that have been visited so far, dead ones too. */
async function visited(): Promise<number> {
  for (const session of [admin, rows.sql]) await session.query('SELECT pg_stat_force_next_flush()');
  await prisma.$queryRaw`SELECT pg_stat_force_next_flush()::text`;
  return visitedRows(admin, ['receipts', 'attempts', 'attempt_claims']);
}

const costs: Record<string, number> = {};

async function costOf<T>(name: string, step: () => Promise<T>): Promise<T> {
  const before = await visited();
  const result = await step();
  costs[name] = Math.max(costs[name] ?? 0, (await visited()) - before);
  return result;
}

/** Statistics of a moment at which nothing waited, then much waits in other lanes. */
const MISLEADING: readonly [name: string, statistics: () => Promise<void>][] = [
  ['analysed when nothing waited', () => writeRegistered()],
  ['never analysed', () => Promise.resolve()],
  [
    'analysed when all of it waited in one lane',
    async () => {
      await writeWaiting(1);
      await admin.query('VACUUM ANALYZE receipts, attempts, attempt_claims');
      await admin.query(`UPDATE receipts SET status = 'cancelled'`);
      await admin.query('DELETE FROM attempts');
    },
  ],
  ...[1, 2].map((seed): [string, () => Promise<void>] => [`made up, ${seed}`, () => makeUp(new Chance(seed))]),
];

/** Numbers of rows that are wrong by orders of magnitude, for tables and for each of their indexes. */
async function makeUp(chance: Chance): Promise<void> {
  await writeRegistered();
  const { rows: relations } = await admin.query<{ oid: number }>(
    `SELECT oid FROM pg_class WHERE oid = ANY($1::regclass[]) UNION SELECT indexrelid FROM pg_index WHERE indrelid = ANY($1::regclass[]) ORDER BY 1`,
    [await filesOf(['receipts', 'attempts', 'attempt_claims'])],
  );
  for (const { oid } of relations) {
    const tuples = chance.pick([0, 1, 50, 10_000, 10_000_000]);
    await admin.query('UPDATE pg_class SET reltuples = $1 WHERE oid = $2', [tuples, oid]);
  }
  for (const column of ['device_id', 'status', 'state', 'merchant_id'])
    if (chance.happens(0.5))
      await admin.query(`DELETE FROM pg_statistic s USING pg_attribute a
                          WHERE a.attrelid = s.starelid AND a.attnum = s.staattnum AND a.attname = '${column}'`);
}

async function writeRegistered(): Promise<void> {
  await admin.query(
    `INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, lane_place, device_id, document, total_tiyin,
                           vat_total_tiyin, terminal_id, receipt_seq, registered_at, evidence)
     SELECT '${receiptIdOf('0')}' || lpad(n::text, 15, '0'), 'mer_' || n % 30, 'cli_1', 'receipts', '', 'sale', 'registered', nextval('lane_place_seq'),
            CASE WHEN n % 4 = 0 THEN 'dev_1' ELSE 'dev_other_' || n % ${LANES} END, '{}', 1, 0, 'UZ', n, now(), 'answer'
       FROM generate_series(1, ${FOREIGN}) AS n`,
  );
  await admin.query(
    `INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id)
     SELECT 'att_' || substr(id, 5), id, device_id, 1, 'registered', '{}', '', 'rly_1' FROM receipts WHERE status = 'registered'`,
  );
  await admin.query('VACUUM ANALYZE receipts, attempts, attempt_claims');
}

async function writeWaiting(lanes: number): Promise<void> {
  await admin.query(
    `INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, lane_place, device_id, document, total_tiyin,
                           vat_total_tiyin)
     SELECT '${receiptIdOf('1')}' || lpad(nextval('lane_place_seq')::text, 15, '0'), 'mer_' || n % 30, 'cli_1', 'receipts', '', 'sale', 'accepted', nextval('lane_place_seq'),
            'dev_other_' || n % ${lanes}, '{}', 1, 0
       FROM generate_series(1, ${FOREIGN}) AS n`,
  );
  // Each lane has its open attempt, as while its registers are slow.
  await admin.query(
    `INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id)
     SELECT DISTINCT ON (device_id) 'att_w' || substr(id, 5), id, device_id, 1, 'open'::attempt_state, '{}'::jsonb, ''::bytea, 'rly_2'
       FROM receipts WHERE status = 'accepted' ORDER BY device_id, lane_place`,
  );
}

/** Every statement of a lane's work, ten times: the planner takes the sixth plan for good. */
async function workLane(laneLock: LaneLockHandle): Promise<void> {
  const registered = ({ attemptId, receiptId }: Intent): CloseRegistered => ({
    ...{ attemptId, receiptId, deviceId: 'dev_1', evidence: 'answer', baseline: BASELINE, lastKnown: null },
    registration: nextRegistration(),
  });
  const ends = {
    registered: (intent: Intent): Promise<unknown> => lane.closeRegistered(registered(intent)),
    rejected: (intent: Intent) =>
      lane.closeRejected(intent, { code: 'E-001', rule: null, detail: 'no', line: null }, {}, laneLock),
    'not registered': (intent: Intent) => lane.closeNotRegistered(intent, {}, laneLock),
    unknown: (intent: Intent) => lane.closeUnknown(intent, { why: 'x' }, { mustSettle: false }),
  };
  for (let round = 0; round < 10; round += 1) {
    for (const [name, close] of Object.entries(ends)) {
      const receiptId = await rows.createReceipt();
      const intent = rows.intent(receiptId);
      const read = await costOf('read', () => lane.read('dev_1', 10));
      expect(read?.waiting.map(({ id }) => id)).toEqual([receiptId]);
      expect(await costOf('openAttempt', () => lane.openAttempt(intent))).toBe('opened');
      expect((await costOf('read with an open attempt', () => lane.read('dev_1', 10)))?.openAttempt?.receiptId).toBe(
        receiptId,
      );
      await costOf('noteRefusal', () => lane.noteRefusal(intent, { why: 'x' }));
      await costOf(name, () => close(intent));
      if (name === 'unknown')
        await costOf('late answer', () =>
          lane.recordLateAnswer({ receiptId, deviceId: 'dev_1', registration: nextRegistration() }),
        );
      await rows.sql.query(`UPDATE receipts SET status = 'cancelled' WHERE id = $1 AND status = 'accepted'`, [
        receiptId,
      ]);
    }
    const [first, next] = [rows.intent(await rows.createReceipt()), rows.intent(await rows.createReceipt())];
    expect(await lane.openAttempt(first)).toBe('opened');
    const both = await costOf('closeAndOpen', () => lane.closeAndOpen(registered(first), next));
    expect(both).toEqual({ closed: 'closed', opened: 'opened' });
    const elsewhere = { ...rows.intent(receiptIdOf('9'.repeat(16))), deviceId: 'dev_none' };
    const third = rows.intent(await rows.createReceipt());
    const before = groups();
    const inCompany = await costOf('closeAndOpen with another lane', () =>
      Promise.all([
        lane.closeAndOpen(registered(next), third),
        lane.openAttempt(elsewhere),
        lane.openAttempt(elsewhere),
      ]),
    );
    expect(inCompany).toEqual([both, 'withdrawn', 'withdrawn']);
    expect(groups()).toBe(before + 1);
    await lane.closeRegistered(registered(third));
    await costOf('dueAmong', () => lane.dueAmong(['dev_1']));
    expect(await costOf('saveIdentity', () => lane.saveIdentity('dev_1', { ...BASELINE, journalId: null }, []))).toBe(
      'saved',
    );
    await rows.createReceipt();
    expect(await costOf('release_lane', askAfterRelease)).toEqual([{ is_due: true }]);
    await rows.sql.query(`UPDATE receipts SET status = 'cancelled' WHERE status = 'accepted' AND device_id = 'dev_1'`);
    expect(await costOf('release_lane', askAfterRelease)).toEqual([{ is_due: false }]);
  }
}

/** Of a lane that is not held: nothing is released. */
const askAfterRelease = (): Promise<unknown> =>
  prisma.$queryRaw`SELECT release_lane(1, l.lock_number, 'rly_ours', 10) AS is_due FROM lanes l WHERE l.device_id = 'dev_1'`;

let documents = 500_000;

function nextRegistration(): Registration {
  documents += 1;
  return {
    ...{ terminalId: 'UZ1', receiptSeq: documents, fiscalSign: 'sign', verificationUrl: 'https://ofd.example/1' },
    ...{ transactionTimeMs: Date.now(), ofdSent: true, ofdError: null, recordedFields: [], shiftNumber: null },
  };
}

async function startOver(statistics: () => Promise<void>): Promise<void> {
  await admin.query('TRUNCATE receipts, attempts, events; DELETE FROM pg_statistic');
  await admin.query(`UPDATE devices SET state = 'online', state_since = now(), profile = '{"failoverAfterMs": 1}'`);
  await admin.query(
    `UPDATE devices SET state = 'unreachable', state_since = now() - interval '1 hour' WHERE id = 'dev_other_0'`,
  );
  await statistics();
  await prisma?.$disconnect();
  const { url } = rows.database;
  prisma = new SalesDatabase({ url, poolSize: 1, applicationName: 'test', lockTimeoutMs: 2_000 });
  groups = countGroups(prisma);
  lane = new LaneRepository(prisma, 'rly_ours');
  for (const name of Object.keys(costs)) delete costs[name];
}

function dearerThan(bound: number): unknown[] {
  return Object.entries(costs).filter(([, visits]) => visits > bound);
}

describe.each(MISLEADING)('%s', (_name, statistics) => {
  beforeAll(async () => {
    await startOver(statistics);
    await writeWaiting(LANES);
  });

  test('no statement of a lane visits what waits in others', async () => {
    await workLane(rows.laneLock);
    expect(dearerThan(FEW)).toEqual([]);
  });

  test('what is asked of all lanes visits each lane, not all that waits there', async () => {
    for (const name of Object.keys(costs)) delete costs[name];
    const failover = new FailoverRepository(prisma);
    for (let round = 0; round < 10; round += 1) {
      const sweep = { overdueMs: 0, after: '', lanes: 200 };
      expect((await costOf('overdueLanes', () => lane.overdueLanes(sweep))).due).toHaveLength(LANES);
      expect(await costOf('devicesAway', () => failover.devicesAway(50))).toEqual(['dev_other_0']);
    }
    expect(dearerThan(LANES * PER_LANE)).toEqual([]);
  });
});

/** Plans that were made and kept while there was next to nothing. */
const FROM_BEFORE: readonly [name: string, before: string][] = [
  ['vacuumed', 'VACUUM ANALYZE receipts, attempts, attempt_claims'],
  ['never analysed', 'SELECT 1'],
];

async function workWithPlansFromBefore(before: string): Promise<void> {
  await startOver(async () => {
    await admin.query(before);
  });
  await workLane(rows.laneLock);
  await writeWaiting(LANES);
  for (const name of Object.keys(costs)) delete costs[name];
  await workLane(rows.laneLock);
}

test.each(FROM_BEFORE)(
  'plans from before there was anything read no more than is needed: %s',
  async (_name, before) => {
    await workWithPlansFromBefore(before);
    expect(dearerThan(FEW)).toEqual([]);
  },
);

describe.each(MISLEADING)('EXPLAIN, %s', (_name, statistics) => {
  beforeAll(async () => {
    await startOver(statistics);
    await writeWaiting(LANES);
  });

  test.each([
    ["SELECT count(*) FROM lane_waiting('dev_other_1', 10)", 'receipts_waiting_in_lane', 'device_id = '],
    ["SELECT count(*) FROM lane_places('dev_other_1', 10)", 'receipts_waiting_in_lane', 'device_id = '],
    ["SELECT lane_length('dev_other_1', 10)", 'receipts_waiting_in_lane', 'device_id = '],
    ['SELECT count(*) FROM waiting_lanes()', 'receipts_waiting_in_lane', 'device_id > '],
    ["SELECT count(*) FROM waiting_lanes_after('', 10)", 'receipts_waiting_in_lane', 'device_id > '],
    ['SELECT waiting_receipts(10)', 'receipts_waiting_in_lane', 'device_id IS NOT NULL'],
    ["SELECT lane_open_attempt('dev_other_1')", 'attempt_claims_pkey', 'device_id = '],
    ['SELECT count(*) FROM open_attempts()', 'attempt_claims_pkey', ''],
    ["SELECT count(*) FROM open_attempts_after('', 10)", 'attempt_claims_pkey', 'device_id > '],
    ['SELECT count(*) FROM owing_devices()', 'receipts_unsent', 'device_id > '],
    ['SELECT unsent_before(0::smallint, now(), 10)', 'receipts_ofd_alerts', 'ofd_deadline_at <= '],
    ['SELECT unsent_before(2::smallint, now(), 10)', 'receipts_ofd_alarmed', 'ofd_deadline_at <= '],
  ])('%s reads %s alone', async (call, index, condition) => {
    const plans = await plansInside(rows.database.adminUrl, call, 7);
    // How partitions are merged is called `Sort Key` as well.
    const read = [
      ...plans.matchAll(/(?:Scan|Scan Backward) using (\w+) on|(Seq Scan|Bitmap Heap Scan|Sort\b(?! Key))/g),
    ];
    const nameOf = await indexNames(admin);
    expect([...new Set(read.map(([, used, other]) => (used === undefined ? other : nameOf(used))))]).toEqual([index]);
    expect(plans).toContain(condition);
  });
});

test('what has come and gone since a snapshot was taken is in the way of its own lane alone', async () => {
  await startOver(writeRegistered);
  const snapshot = new pg.Client({ connectionString: rows.database.ownerUrl });
  await snapshot.connect();
  try {
    await snapshot.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await snapshot.query('SELECT count(*) FROM receipts');
    await writeWaiting(LANES);
    await admin.query(`DELETE FROM attempts WHERE state = 'open'`);
    await admin.query(`DELETE FROM receipts WHERE status = 'accepted'`);
    await admin.query('VACUUM ANALYZE receipts, attempts, attempt_claims');
    await workLane(rows.laneLock);
    expect(dearerThan(FEW)).toEqual([]);
  } finally {
    await snapshot.end();
  }
});

test('a register that is to send again is taken without reading what another one has unsent', async () => {
  await startOver(async () => {
    await admin.query(
      `INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, lane_place, device_id, document, total_tiyin,
                             vat_total_tiyin, terminal_id, receipt_seq, registered_at, evidence, ofd_status, ofd_deadline_at)
       SELECT '${receiptIdOf('0')}' || lpad(n::text, 15, '0'), 'mer_1', 'cli_1', 'receipts', '', 'sale', 'registered', nextval('lane_place_seq'),
              'dev_other_1', '{}', 1, 0, 'UZ', n, now(), 'answer', 'pending', now() + interval '48 hours'
         FROM generate_series(1, ${FOREIGN}) AS n`,
    );
    await admin.query('ANALYZE receipts');
  });
  const ofd = new OfdRepository(prisma);
  for (let round = 0; round < 7; round += 1) {
    await admin.query(`UPDATE devices SET resend_due_at = now() WHERE id = 'dev_1'`);
    const shares = { free: 8, kept: 0, held: new Map<string, number>() };
    const claims = await costOf('claimDue', () => ofd.claimDue(shares, 60_000));
    expect(claims.map(({ deviceId }) => deviceId)).toEqual(['dev_1']);
  }
  expect(dearerThan(FEW)).toEqual([]);
});

describe('where receipts have been sold for years', () => {
  beforeAll(async () => {
    await admin.query('TRUNCATE receipts, attempts, events');
    const halves = Array.from({ length: 12 }, (_, half) => new Date(Date.UTC(2021, 6 * half)));
    await makeHalfYears(rows.database.ownerUrl, halves);
    for (const table of await filesOf(['receipts']))
      await admin.query(`ALTER TABLE ${table} SET (autovacuum_enabled = off)`);
  });

  test.each(MISLEADING)('no statement of a lane visits what waits in others: %s', async (_name, statistics) => {
    await startOver(statistics);
    await writeWaiting(LANES);
    await workLane(rows.laneLock);
    expect(dearerThan(FEW)).toEqual([]);
  });

  test.each(FROM_BEFORE)('plans from before there was anything do neither: %s', async (_name, before) => {
    await workWithPlansFromBefore(before);
    expect(dearerThan(FEW)).toEqual([]);
  });
});
