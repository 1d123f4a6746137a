// Promise: an installation with attempts gets them in partitions while sales are written, without losing or changing one; a migration that is
// killed is begun again; one attempt of a register is open at a time as before, of whichever month its receipt is; each merchant reads its own, and
// no program may do more than before.
import type pg from 'pg';
import type { Prisma } from '#database';
import { createEmptyDatabase } from '#database/testing';
import { isHalfPartitioned, readPartitions, type RunStatement } from '#ledger';
import { firstIdAt, newId, newIdOf } from '#runtime';
import { migrate, readMigrations } from '../../scripts/lib/migrations.mjs';
import {
  connect,
  grantAsBefore,
  migrateAndDie,
  moreWritten,
  ODD_RECEIPTS,
  OLD_RECEIPT,
  refusalOf,
  untilWaiting,
  writtenDuring,
} from './conversions.js';

const FIRST = '20261127140000_attempts_by_id';
const BOUND = '20261127140100_attempt_partitions_bound';
const LAST = '20261127140300_attempt_partitions';
const ROWS = 20_000;
let database: Awaited<ReturnType<typeof createEmptyDatabase>>;
let owner: pg.Client;
let programs: pg.Client;

const migrations = readMigrations();
const upTo = (name: string): typeof migrations => migrations.filter((migration) => migration.name < name);

beforeAll(async () => {
  database = await createEmptyDatabase();
  await migrate({ migrateDatabaseUrl: database.ownerUrl, databaseUrl: undefined, migrations: upTo(FIRST) });
  owner = await connect(database.ownerUrl);
  programs = await connect(database.url);
  await grantAsBefore(owner, {
    receipts: `merchant_id = current_setting('fgw.merchant_id', true)`,
    attempts: 'EXISTS (SELECT FROM receipts WHERE receipts.id = attempts.receipt_id)',
    devices: `merchant_id = current_setting('fgw.merchant_id', true)`,
  });
  await owner.query(`
    REVOKE UPDATE, DELETE, TRUNCATE ON attempts FROM fiscal_app, fiscal_app_tenant;
    GRANT UPDATE (state, closed_at, outcome) ON attempts TO fiscal_app, fiscal_app_tenant;
    INSERT INTO merchants (id, code, name, tin) SELECT 'mer_' || n, 'm' || n, 'M', '300000000' FROM generate_series(1, 2) AS n;
    INSERT INTO branches (id, merchant_id, code, name) SELECT 'brn_' || n, 'mer_' || n, 'main', 'Main' FROM generate_series(1, 2) AS n;
    INSERT INTO devices (id, merchant_id, branch_id, name, base_url, api_key_sealed)
    SELECT 'dev_' || n, 'mer_' || 1 + n % 2, 'brn_' || 1 + n % 2, 'Till', 'http://127.0.0.1:1', '\\x00' FROM generate_series(1, 20) AS n;
    INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, lane_place, device_id, document, total_tiyin, vat_total_tiyin)
    SELECT ${OLD_RECEIPT}, 'mer_' || 1 + n % 2, 'cli_1', 'receipts', '', 'sale', 'rejected', n, 'dev_1', '{}', 1, 0 FROM generate_series(1, ${ROWS}) AS n;
    INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id, closed_at, outcome)
    SELECT 'att_01ka' || lpad(n::text, 22, '0'), ${OLD_RECEIPT}, 'dev_' || 1 + n % 10, 1, 'rejected', '{}', '\\x61', 'rly', now(), '{"why": "чек"}'
      FROM generate_series(1, ${ROWS}) AS n;
    INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id)
    SELECT 'att_open_' || n, ${OLD_RECEIPT}, 'dev_' || n, 2, 'open', '{}', '\\x61', 'rly' FROM generate_series(11, 12) AS n`);
});
afterAll(async () => {
  await owner?.end();
  await programs?.end();
  await database?.drop();
});

const run: RunStatement = async <Row>({ text, values }: Prisma.Sql) =>
  (await owner.query(text, [...values])).rows as Row[];

async function digest(): Promise<string> {
  const { rows } = await owner.query<{ digest: string }>(
    `SELECT md5(string_agg(to_jsonb(t)::text, ',' ORDER BY id)) AS digest FROM attempts t WHERE relay_id = 'rly'`,
  );
  return rows[0]?.digest ?? '';
}

const INSERT = `INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id)
                VALUES ($1, $2, $3, 1, 'open', '{}', '\\x61', 'writer')`;
/** Writers, each of which sells at a register of its own. */
const sellers = new Map<pg.Client, { device: string; sold: number }>();

/** As a relay of the release before sells: accepted, intent, registered; every second one in a sandbox. */
async function sell(client: pg.Client): Promise<string> {
  const seller = sellers.get(client) ?? { device: `dev_${13 + sellers.size}`, sold: 0 };
  sellers.set(client, seller);
  seller.sold += 1;
  const receiptId = newIdOf('rcp', seller.sold % 2 === 0 ? 'mer_test_1' : 'mer_1');
  const attemptId = newId('att');
  await client.query(
    `INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, lane_place, device_id, document, total_tiyin, vat_total_tiyin)
     VALUES ($1, 'mer_1', 'cli_1', 'receipts', '', 'sale', 'sending', 1, $2, '{}', 1, 0)`,
    [receiptId, seller.device],
  );
  await client.query(INSERT, [attemptId, receiptId, seller.device]);
  const closed = await client.query(
    `UPDATE attempts a SET state = 'registered', closed_at = now(), outcome = '{}' WHERE a.id = $1 AND a.state::text = 'open'`,
    [attemptId],
  );
  if (closed.rowCount !== 1) throw new Error('the attempt was not there');
  return attemptId;
}

async function seenBy(merchantId: string): Promise<number[]> {
  await programs.query('BEGIN; SET LOCAL ROLE fiscal_app_tenant');
  await programs.query(`SELECT set_config('fgw.merchant_id', $1, true)`, [merchantId]);
  const { rows } = await programs.query<{ attempts: number; open: number }>(
    `SELECT (SELECT count(*)::int4 FROM attempts) AS attempts, (SELECT count(*)::int4 FROM attempt_claims WHERE attempt_id LIKE 'att_open%') AS open`,
  );
  await programs.query('ROLLBACK');
  return rows.flatMap(({ attempts, open }) => [attempts, open]);
}

const refusal = (text: string, values: unknown[] = []): Promise<string | undefined> =>
  refusalOf(programs, text, values);

async function claims(): Promise<string[]> {
  const { rows } = await owner.query<{ id: string }>('SELECT attempt_id AS id FROM attempt_claims ORDER BY 1');
  return rows.map(({ id }) => id);
}

test('a filled database is converted while sales are written; killed and repeated, nothing is missing or changed', async () => {
  const before = await digest();
  const written = await writtenDuring(database, sell, async (soFar) => {
    await migrate({ migrateDatabaseUrl: database.ownerUrl, databaseUrl: undefined, migrations: upTo(BOUND) });
    await migrateAndDie(database, 'attempts');
    await migrate({ migrateDatabaseUrl: database.ownerUrl, databaseUrl: undefined, migrations: upTo(LAST) });
    await migrateAndDie(database, 'attempts');
    expect((await owner.query(`SELECT to_regclass('parts.attempts_first') AS first`)).rows).toEqual([{ first: null }]);
    // Which alarms while it stands so (docs/alarms.md, PartitionsBehind).
    expect([await isHalfPartitioned(run), (await readPartitions(run)).daysAhead]).toEqual([true, 0]);
    await migrate({ migrateDatabaseUrl: database.ownerUrl, databaseUrl: undefined });
    // Rights and policies come with the tables, not with what is set anew after all migrations.
    expect(await seenBy('mer_2')).toEqual([ROWS / 2 + 1, 1]);
    await migrate({ migrateDatabaseUrl: database.ownerUrl, databaseUrl: database.url });
    await moreWritten(soFar, 50);
  });
  expect([await isHalfPartitioned(run), (await readPartitions(run)).daysAhead > 60]).toEqual([false, true]);
  expect(await digest()).toBe(before);
  const { rows } = await owner.query<{ id: string }>(`SELECT id FROM attempts WHERE relay_id = 'writer' ORDER BY id`);
  expect(rows.map(({ id }) => id)).toEqual([...written].sort());
  expect(await claims()).toEqual(['att_open_11', 'att_open_12']);
});

test('the migration that shuts the table, and each month that is made later, reads none of what was there', async () => {
  const empty = await createEmptyDatabase();
  const client = await connect(empty.ownerUrl);
  const notices: string[] = [];
  client.on('notice', ({ message }) => notices.push(message ?? ''));
  const implied = (): number =>
    notices.filter((notice) => /constraint for default partition "attempts_first" is implied/.test(notice)).length;
  try {
    await migrate({ migrateDatabaseUrl: empty.ownerUrl, databaseUrl: undefined, migrations: upTo(LAST) });
    await client.query('SET client_min_messages = debug1');
    await client.query(`BEGIN; ${migrations.find(({ name }) => name === LAST)?.sql ?? ''}; COMMIT`);
    expect(implied()).toBeGreaterThanOrEqual(3);
    expect(notices.filter((notice) => /building index .* on table "attempts_first"/.test(notice))).toEqual([]);
    expect(notices.filter((notice) => /verifying table "attempts_first"/.test(notice))).toEqual([]);
    const before = implied();
    // As if the last month had gone by: it is taken off, and the next step makes it anew.
    const { rows } = await client.query<{ last: string; before: string; lower: string }>(
      `SELECT l.name AS last, p.name AS before, p.lower_id AS lower FROM partitions_of('attempts') l
         JOIN partitions_of('attempts') p ON p.upper_id = l.lower_id WHERE l.upper_id IS NULL`,
    );
    const { last = '', before: month = '', lower = '' } = rows[0] ?? {};
    await client.query(`
      DROP TABLE parts.${last};
      ALTER TABLE attempts DETACH PARTITION parts.${month};
      ALTER TABLE attempts ATTACH PARTITION parts.${month} FOR VALUES FROM ('${lower}') TO ('rcp_t')`);
    expect((await client.query(`SELECT make_next_partition('attempts') AS step`)).rows).toEqual([{ step: 'made' }]);
    expect(implied()).toBeGreaterThan(before);
    expect(notices.filter((notice) => /verifying table "attempts_first"/.test(notice))).toEqual([]);
  } finally {
    await client.end();
    await empty.drop();
  }
});

/** Of an id of ours, milliseconds. */
function timeOf(id = ''): number {
  const letters = '0123456789abcdefghjkmnpqrstvwxyz';
  return [...id.slice(4, 14)].reduce((time, letter) => time * 32 + letters.indexOf(letter), 0);
}

test('what was there, and what sandboxes sell, is in no month; the last month has no end but that of all months', async () => {
  const { rows } = await owner.query<{ name: string; lower_id: string; upper_id: string | null }>(
    `SELECT * FROM partitions_of('attempts') ORDER BY lower_id`,
  );
  expect(rows.slice(1).map(({ lower_id: lower }) => lower)).toEqual(
    rows.slice(0, -1).map(({ upper_id: upper }) => upper),
  );
  expect(rows.at(-1)?.upper_id).toBeNull();
  expect(timeOf(rows.at(-1)?.lower_id) - Date.now()).toBeGreaterThan(89 * 86_400_000);
  for (const [receiptId, partition] of [
    [firstIdAt('rcp', new Date('2020-01-01')) + '0'.repeat(16), 'attempts_first'],
    [`${firstIdAt('rcp', new Date('2050-01-01')).replace('rcp_', 'rcp_test_')}${'0'.repeat(16)}`, 'attempts_first'],
    [`${rows[1]?.lower_id ?? ''}${'0'.repeat(16)}`, rows[1]?.name],
    [firstIdAt('rcp', new Date('2050-01-01')) + '0'.repeat(16), rows.at(-1)?.name],
  ]) {
    const { rows: placed } = await owner.query<{ at: string }>(
      `INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id)
       VALUES ('att_' || $1, $1, 'dev_1', 1, 'rejected', '{}', '', 'place') RETURNING tableoid::regclass::text AS at`,
      [receiptId],
    );
    expect([receiptId, placed[0]?.at]).toEqual([receiptId, `parts.${String(partition)}`]);
  }
  await owner.query(`DELETE FROM attempts WHERE relay_id = 'place'`);
});

describe('one attempt of a register is open at a time', () => {
  const receipt = (year: number, n: number): string =>
    firstIdAt('rcp', new Date(`${year}-01-01`)) + String(n).padStart(16, '0');
  const opened = (attempt: string, receiptId: string, device = 'dev_15'): Promise<string | undefined> =>
    refusal(INSERT, [attempt, receiptId, device]);
  const closed = (attempt: string): Promise<string | undefined> =>
    refusal(`UPDATE attempts SET state = 'rejected', closed_at = now() WHERE id = '${attempt}'`);

  test('also the one that was open at the conversion, and of receipts of different months', async () => {
    expect(await opened('att_1', receipt(2050, 1), 'dev_11')).toBe('23505');
    expect(await closed('att_open_11')).toBeUndefined();
    expect(await opened('att_1', receipt(2050, 1), 'dev_11')).toBeUndefined();
    expect(await opened('att_2', receipt(2020, 2), 'dev_11')).toBe('23505');
    // In one statement, as a lane goes on.
    expect(
      await refusal(
        `WITH done AS (UPDATE attempts SET state = 'rejected', closed_at = now() WHERE id = 'att_1' RETURNING id)
         INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id)
         SELECT 'att_2', $1, 'dev_11', 1, 'open', '{}', '', 'writer' FROM done`,
        [receipt(2020, 2)],
      ),
    ).toBeUndefined();
    expect(await claims()).toEqual(['att_2', 'att_open_12']);
    expect((await owner.query(`SELECT lane_open_attempt('dev_11') AS id`)).rows).toEqual([{ id: 'att_2' }]);
    expect((await owner.query<{ id: string }>(`SELECT id, receipt_id FROM lane_attempt('dev_11')`)).rows).toEqual([
      { id: 'att_2', receipt_id: receipt(2020, 2) },
    ]);
    expect(await closed('att_2')).toBeUndefined();
    expect((await owner.query(`SELECT FROM lane_attempt('dev_11')`)).rowCount).toBe(0);
  });

  test('who opens one waits for who does at the same time, and is refused if that commits', async () => {
    const other = await connect(database.url);
    try {
      for (const [end, outcome] of [
        ['ROLLBACK', undefined],
        ['COMMIT', '23505'],
      ] as const) {
        await other.query('BEGIN');
        await other.query(INSERT, [`att_3${end}`, receipt(2050, 3), 'dev_15']);
        const second = opened(`att_4${end}`, receipt(2020, 4));
        await untilWaiting(programs, owner);
        await other.query(end);
        expect([end, await second]).toEqual([end, outcome]);
        await owner.query(`DELETE FROM attempts WHERE device_id = 'dev_15'`);
      }
      expect(await claims()).toEqual(['att_open_12']);
    } finally {
      await other.end();
    }
  });

  test('a claim whose attempt is not there any more is taken over, by one of two', async () => {
    expect(await opened('att_5', receipt(2050, 5))).toBeUndefined();
    await owner.query(
      `ALTER TABLE attempts DISABLE TRIGGER USER; DELETE FROM attempts WHERE id = 'att_5'; ALTER TABLE attempts ENABLE TRIGGER USER`,
    );
    const other = await connect(database.url);
    try {
      await other.query('BEGIN');
      await other.query(INSERT, ['att_6', receipt(2050, 6), 'dev_15']);
      const second = opened('att_7', receipt(2020, 7));
      await untilWaiting(programs, owner);
      await other.query('COMMIT');
      expect(await second).toBe('23505');
    } finally {
      await other.end();
    }
    expect(await claims()).toEqual(['att_6', 'att_open_12']);
    // It moves with its attempt, and ends with it.
    await owner.query(`UPDATE attempts SET device_id = 'dev_16', receipt_id = $1 WHERE id = 'att_6'`, [
      receipt(2020, 6),
    ]);
    expect(await opened('att_8', receipt(2020, 8), 'dev_16')).toBe('23505');
    expect(await opened('att_8', receipt(2020, 8), 'dev_15')).toBeUndefined();
    await owner.query(`DELETE FROM attempts WHERE id IN ('att_6', 'att_8')`);
    expect(await claims()).toEqual(['att_open_12']);
  });

  test('a claim whose attempt was closed past the triggers keeps no lane: it has no open attempt, and its next intent takes the claim over', async () => {
    expect(await opened('att_9', receipt(2050, 9))).toBeUndefined();
    await owner.query(
      `ALTER TABLE attempts DISABLE TRIGGER USER; UPDATE attempts SET state = 'rejected' WHERE id = 'att_9'; ALTER TABLE attempts ENABLE TRIGGER USER`,
    );
    expect((await owner.query(`SELECT FROM lane_attempt('dev_15')`)).rowCount).toBe(0);
    expect(await opened('att_10', receipt(2020, 10))).toBeUndefined();
    expect(await claims()).toEqual(['att_10', 'att_open_12']);
    await owner.query(`DELETE FROM attempts WHERE id IN ('att_9', 'att_10')`);
    expect(await claims()).toEqual(['att_open_12']);
  });

  test('two attempts with one id are two', async () => {
    expect(await opened('att_11', receipt(2050, 11))).toBeUndefined();
    expect(await opened('att_11', receipt(2020, 11))).toBe('23505');
    expect(await opened('att_11', receipt(2020, 11), 'dev_16')).toBeUndefined();
    await owner.query(`DELETE FROM attempts WHERE receipt_id = $1`, [receipt(2020, 11)]);
    expect(await claims()).toEqual(['att_11', 'att_open_12']);
    await owner.query(`DELETE FROM attempts WHERE id = 'att_11'`);
    expect(await claims()).toEqual(['att_open_12']);
  });

  test('a table that is emptied has no claims', async () => {
    await owner.query('BEGIN; TRUNCATE attempts');
    expect(await claims()).toEqual([]);
    await owner.query('ROLLBACK');
    expect(await claims()).toEqual(['att_open_12']);
  });
});

test.each(['fiscal_app', 'fiscal_app_tenant'])('%s reads no partition directly, and moves no claim', async (role) => {
  await programs.query(`SET ROLE ${role}`);
  try {
    for (const statement of [
      'SELECT FROM parts.attempts_first',
      'DELETE FROM parts.attempts_first',
      'DELETE FROM attempts',
      `UPDATE attempts SET request = ''`,
      'DELETE FROM attempt_claims',
      `UPDATE attempt_claims SET attempt_id = ''`,
      `INSERT INTO attempt_claims VALUES ('dev_1', '', '', now())`,
      'TRUNCATE attempt_claims',
      'ALTER TABLE attempts DISABLE TRIGGER attempts_claimed',
      'ALTER TABLE attempts DETACH PARTITION parts.attempts_first',
    ])
      expect([statement, await refusal(statement)]).toEqual([statement, '42501']);
    const release = 'SELECT release_attempt_partitions(395)';
    expect(await refusal(release)).toBe(role === 'fiscal_app' ? undefined : '42501');
  } finally {
    await programs.query('RESET ROLE');
  }
});

test.each(ODD_RECEIPTS)('a receipt with an id %s', async (_of, receiptId, refused) => {
  const old = await createEmptyDatabase();
  const client = await connect(old.ownerUrl);
  try {
    await migrate({ migrateDatabaseUrl: old.ownerUrl, databaseUrl: undefined, migrations: upTo(BOUND) });
    await client.query('ALTER TABLE attempts DROP CONSTRAINT attempts_receipt_id_fkey');
    await client.query(
      `INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id) VALUES ('att_1', $1, 'dev_1', 1, 'rejected', '{}', '', 'r')`,
      [receiptId],
    );
    await client.query(
      `ALTER TABLE attempts ADD CONSTRAINT attempts_receipt_id_fkey FOREIGN KEY (receipt_id) REFERENCES receipts (id) NOT VALID`,
    );
    const done = migrate({ migrateDatabaseUrl: old.ownerUrl, databaseUrl: undefined });
    if (refused !== null)
      await expect(done).rejects.toMatchObject({ cause: { message: expect.stringContaining(refused) as string } });
    else {
      await done;
      const { rows } = await client.query<{ lower: string }>(
        `SELECT min(lower_id) AS lower FROM partitions_of('attempts')`,
      );
      expect(timeOf(rows[0]?.lower) - Date.now()).toBeGreaterThan(399 * 86_400_000);
      expect((await client.query('SELECT FROM parts.attempts_first')).rowCount).toBe(1);
    }
  } finally {
    await client.end();
    await old.drop();
  }
});
