// Promise: an installation with deliveries gets them in partitions while they are written, without losing one; a migration that is killed is
// begun again; programs read and write partitions through their tables alone, each merchant its own.
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { createEmptyDatabase } from '#database/testing';
import { firstIdAt, newId } from '#runtime';
import { migrate, readMigrations } from '../../scripts/lib/migrations.mjs';
import {
  connect,
  expectMonthsAhead,
  expectNothingRead,
  grantAsBefore,
  migrateAndDie,
  moreWritten,
  refusalOf,
  writtenDuring,
} from './conversions.js';

const FIRST = '20261125160000_webhook_partitions_bound';
const LAST = '20261125160200_webhook_partitions';
const adminUrl = process.env['TEST_DATABASE_ADMIN_URL'] ?? '';
const name = `partitions_${randomBytes(5).toString('hex')}`;
const urlFor = (role: string): string => {
  const url = new URL(adminUrl);
  [url.username, url.pathname] = [role, `/${name}`];
  return url.href;
};
const [migrateDatabaseUrl, databaseUrl] = [urlFor('fiscal_owner'), urlFor('fiscal_app')];
const urls = { ownerUrl: migrateDatabaseUrl, url: databaseUrl };
let owner: pg.Client;
let programs: pg.Client;

async function asAdmin(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

beforeAll(async () => {
  await asAdmin(`CREATE DATABASE ${name} OWNER fiscal_owner`);
  const migrations = readMigrations().filter(({ name: each }) => each < FIRST);
  await migrateAsBefore(migrations);
  owner = await connect(migrateDatabaseUrl);
  programs = await connect(databaseUrl);
  await owner.query(`
    INSERT INTO merchants (id, code, name, tin) SELECT 'mer_' || n, 'm' || n, 'M', '300000000' FROM generate_series(1, 2) AS n;
    INSERT INTO webhook_endpoints (id, merchant_id, url, events) SELECT 'whk_' || n, 'mer_' || n, 'https://a.example', '{*}' FROM generate_series(1, 2) AS n`);
});
afterAll(async () => {
  await owner?.end();
  await programs?.end();
  await asAdmin(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
});

async function migrateAsBefore(migrations: ReturnType<typeof readMigrations>): Promise<void> {
  await migrate({ migrateDatabaseUrl, databaseUrl: undefined, migrations });
  const client = await connect(migrateDatabaseUrl);
  await grantAsBefore(client, {
    webhook_deliveries: `merchant_id = current_setting('fgw.merchant_id', true)`,
    webhook_attempts:
      'EXISTS (SELECT FROM webhook_deliveries WHERE webhook_deliveries.id = webhook_attempts.delivery_id)',
  });
  await client.end();
}

/** A delivery with an attempt, in one statement, as the release before writes them. */
async function deliver(client: pg.Client, merchant: 1 | 2 = 1): Promise<string> {
  const id = newId('dlv');
  await client.query(
    `WITH made AS (INSERT INTO webhook_deliveries (id, merchant_id, endpoint_id, event_position, event_id, type, subject_id, url)
                   VALUES ($1, $2, $3, 1, 'evt_1', 'receipt.registered', $1, 'https://a.example') RETURNING id)
     SELECT id FROM made`,
    [id, `mer_${merchant}`, `whk_${merchant}`],
  );
  await client.query(
    `INSERT INTO webhook_attempts (delivery_id, number, duration_ms, outcome) VALUES ($1, 1, 1, 'timeout')`,
    [id],
  );
  return id;
}

async function digest(of: string): Promise<string> {
  const { rows } = await owner.query<{ digest: string }>(
    `SELECT md5(string_agg(to_jsonb(t)::text, ',' ORDER BY to_jsonb(t)::text)) AS digest FROM ${of} t`,
  );
  return rows[0]?.digest ?? '';
}

test('a filled database is converted while deliveries are written; killed in the middle and repeated, nothing is missing or changed', async () => {
  await owner.query(`
    INSERT INTO webhook_deliveries (id, merchant_id, endpoint_id, event_position, event_id, type, subject_id, url, state, finished_at)
    SELECT 'dlv_01ka' || lpad(n::text, 22, '0'), 'mer_' || 1 + n % 2, 'whk_' || 1 + n % 2, n, 'evt_' || n, 't', 'rcp_' || n, 'https://a.example',
           CASE WHEN n % 9 = 0 THEN 'pending' ELSE 'delivered' END::delivery_state, now() FROM generate_series(1, 20000) AS n;
    INSERT INTO webhook_attempts (delivery_id, number, duration_ms, outcome) SELECT id, 1, 1, 'delivered' FROM webhook_deliveries`);
  const before = [await digest('webhook_deliveries'), await digest('webhook_attempts')];
  const written = await writtenDuring(
    urls,
    (client) => deliver(client),
    async (soFar) => {
      await migrateAndDie(urls, 'webhook_attempts');
      const migrations = readMigrations().filter(({ name: each }) => each < LAST);
      const { applied } = await migrate({ migrateDatabaseUrl, databaseUrl: undefined, migrations });
      expect(applied).toHaveLength(2);
      await migrateAndDie(urls, 'webhook_attempts');
      expect((await owner.query(`SELECT to_regnamespace('parts') AS parts`)).rows).toEqual([{ parts: null }]);
      await migrate({ migrateDatabaseUrl, databaseUrl: undefined });
      // Rights and policies come with the tables, not with what is set anew after all migrations.
      expect(await seenBy('mer_2')).toEqual({ deliveries: 10_000, attempts: 10_000 });
      await migrate({ migrateDatabaseUrl, databaseUrl });
      await moreWritten(soFar, 50);
    },
  );
  expect([
    await digest(`(SELECT * FROM webhook_deliveries WHERE id < 'dlv_01kb')`),
    await digest(`(SELECT * FROM webhook_attempts WHERE delivery_id < 'dlv_01kb')`),
  ]).toEqual(before);
  const { rows } = await owner.query<{ id: string }>(
    `SELECT id FROM webhook_deliveries WHERE id >= 'dlv_01kb' ORDER BY id`,
  );
  expect(rows.map(({ id }) => id)).toEqual([...written].sort());
  const { rows: numbers } = await owner.query<{ all: number; different: number }>(
    `SELECT count(*)::int4 AS all, count(DISTINCT sequence)::int4 AS different FROM webhook_deliveries`,
  );
  expect(numbers[0]?.different).toBe(numbers[0]?.all);
});

async function seenBy(merchantId: string): Promise<{ deliveries: number; attempts: number } | undefined> {
  await programs.query('BEGIN; SET LOCAL ROLE fiscal_app_tenant');
  await programs.query(`SELECT set_config('fgw.merchant_id', $1, true)`, [merchantId]);
  const { rows } = await programs.query<{ deliveries: number; attempts: number }>(
    `SELECT (SELECT count(*)::int4 FROM webhook_deliveries) AS deliveries, (SELECT count(*)::int4 FROM webhook_attempts) AS attempts`,
  );
  await programs.query('ROLLBACK');
  return rows[0];
}

test('the migration that shuts both tables reads neither, and makes no index or foreign key of theirs anew', () =>
  expectNothingRead(LAST, ['webhook_deliveries', 'webhook_attempts']));

test('an id of a clock ten years ahead is in the first partition, and can be changed all the while', async () => {
  const empty = await createEmptyDatabase();
  const client = await connect(empty.ownerUrl);
  try {
    const to = { migrateDatabaseUrl: empty.ownerUrl, databaseUrl: undefined };
    const migrations = readMigrations();
    await migrate({ ...to, migrations: migrations.filter(({ name: each }) => each < FIRST) });
    const id = firstIdAt('dlv', new Date('2036-05-05T00:00:00Z')).padEnd(30, '0');
    await client.query(`
      INSERT INTO merchants (id, code, name, tin) VALUES ('mer_1', 'm', 'M', '300000000');
      INSERT INTO webhook_endpoints (id, merchant_id, url, events) VALUES ('whk_1', 'mer_1', 'https://a.example', '{*}');
      INSERT INTO webhook_deliveries (id, merchant_id, endpoint_id, event_position, event_id, type, subject_id, url)
      VALUES ('${id}', 'mer_1', 'whk_1', 1, 'evt_1', 't', 'rcp_1', 'https://a.example')`);
    for (const { name: next } of migrations.filter(({ name: each }) => each >= FIRST && each <= LAST)) {
      await migrate({ ...to, migrations: migrations.filter(({ name: each }) => each <= next) });
      await client.query(`UPDATE webhook_deliveries SET attempt_count = attempt_count + 1`);
    }
    expect((await client.query('SELECT id, attempt_count AS n FROM webhook_deliveries')).rows).toEqual([{ id, n: 3 }]);
  } finally {
    await client.end();
    await empty.drop();
  }
});

test('a database in whose order ids do not sort by time is refused', async () => {
  const czech = `${name}_cs`;
  await asAdmin(
    `CREATE DATABASE ${czech} OWNER fiscal_owner TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'cs' ENCODING 'UTF8'`,
  );
  try {
    const url = new URL(migrateDatabaseUrl);
    url.pathname = `/${czech}`;
    await expect(migrate({ migrateDatabaseUrl: url.href, databaseUrl: undefined })).rejects.toMatchObject({
      cause: { message: expect.stringContaining('sorts ids of webhook') as unknown },
    });
  } finally {
    await asAdmin(`DROP DATABASE ${czech} WITH (FORCE)`);
  }
});

test('no name of a temporary table stands before those of the schema in a function of the owner', async () => {
  const { rows } = await owner.query<{ name: string; path: string; is_definer: boolean }>(
    `SELECT p.proname AS name, p.prosecdef AS is_definer, (SELECT c FROM unnest(p.proconfig) AS c WHERE c LIKE 'search_path=%') AS path
       FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace`,
  );
  // What sets none has that of its caller.
  const open = rows.filter(
    ({ path, is_definer: isDefiner }) => (path ?? (isDefiner ? '' : null))?.endsWith('pg_temp') === false,
  );
  expect(open.map(({ name: each }) => each)).toEqual([]);
  expect(rows.filter(({ is_definer: isDefiner }) => isDefiner).length).toBeGreaterThan(4);
});

test('what was there is the first partition, the last one has no end, and three months stand between', async () => {
  for (const table of ['webhook_deliveries', 'webhook_attempts']) {
    await expectMonthsAhead(owner, table);
    const { rows: settings } = await owner.query<{ given: string[] }>(
      `SELECT DISTINCT reloptions AS given FROM partitions_of($1) p JOIN pg_class c ON c.oid = format('parts.%I', p.name)::regclass`,
      [table],
    );
    expect(settings).toHaveLength(1);
    expect(settings[0]?.given.length).toBeGreaterThan(2);
  }
  const { rows } = await owner.query<{ at: Date }>(`SELECT time_of_id(first_id_at('dlv', $1)) AS at`, [
    '2026-11-25T16:00:00.123Z',
  ]);
  expect(rows[0]?.at.toISOString()).toBe('2026-11-25T16:00:00.123Z');
});

describe('the programs’ roles', () => {
  const PERMISSION_DENIED = '42501';

  test.each(['fiscal_app', 'fiscal_app_tenant'])('%s neither reads nor writes a partition directly', async (role) => {
    await programs.query(`SET ROLE ${role}`);
    const { rows } = await owner.query<{ name: string; rows: number }>(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = 'parts'::regnamespace AND relkind = 'r'`,
    );
    expect(rows.length).toBeGreaterThan(7);
    for (const { name: each } of rows)
      for (const statement of [
        `SELECT FROM parts.${each}`,
        `DELETE FROM parts.${each}`,
        `UPDATE parts.${each} SET url = ''`,
        `INSERT INTO parts.${each} DEFAULT VALUES`,
        `TRUNCATE parts.${each}`,
        `DROP TABLE parts.${each}`,
        `ALTER TABLE webhook_deliveries DETACH PARTITION parts.${each}`,
      ])
        expect([statement, await refusalOf(programs, statement)]).toEqual([statement, PERMISSION_DENIED]);
    expect(await refusalOf(programs, 'CREATE TABLE parts.mine (id int)')).toBe(PERMISSION_DENIED);
    const { rows: rights } = await owner.query<{ rights: number }>(
      `SELECT count(*)::int4 AS rights FROM pg_class c, unnest('{SELECT,INSERT,UPDATE,DELETE,TRUNCATE}'::text[]) AS v(verb)
        WHERE c.relnamespace = 'parts'::regnamespace AND c.relkind = 'r' AND has_table_privilege($1, c.oid, v.verb)`,
      [role],
    );
    expect(rights).toEqual([{ rights: 0 }]);
  });

  test('a merchant finds its own through the table, and writes for no other', async () => {
    await programs.query('RESET ROLE');
    const { rows: all } = await programs.query<{ n: number }>('SELECT count(*)::int4 AS n FROM webhook_deliveries');
    await programs.query(`SET ROLE fiscal_app_tenant; SET fgw.merchant_id = 'mer_2'`);
    const { rows } = await programs.query<{ deliveries: number; attempts: number; strangers: number }>(
      `SELECT count(*)::int4 AS deliveries, count(*) FILTER (WHERE merchant_id <> 'mer_2')::int4 AS strangers,
              (SELECT count(*)::int4 FROM webhook_attempts) AS attempts FROM webhook_deliveries`,
    );
    expect(rows).toEqual([{ deliveries: 10_000, strangers: 0, attempts: 10_000 }]);
    expect(all[0]?.n).toBeGreaterThan(20_000);
    await expect(deliver(programs, 1)).rejects.toThrow(/row-level security/);
    await deliver(programs, 2);
  });

  test('no merchant’s statement makes, takes off, reads or drops a partition', async () => {
    await programs.query('RESET ROLE; SET ROLE fiscal_app_tenant');
    for (const call of [
      `make_next_partition('webhook_deliveries')`,
      'release_webhook_partitions(1)',
      `read_released_partition('x', '', 1)`,
      `drop_released_partition('x', false)`,
      `create_partition('webhook_deliveries', 'x', 'DEFAULT')`,
    ])
      expect([call, await refusalOf(programs, `SELECT ${call}`)]).toEqual([call, PERMISSION_DENIED]);
    await programs.query('RESET ROLE');
    for (const call of [
      `create_partition('webhook_deliveries', 'x', 'DEFAULT')`,
      `shut_partitioned_table('webhook_deliveries', 'ACCESS SHARE')`,
      `put_back_rows('webhook_deliveries', 'webhook_deliveries_first', 'id = $1', 'x'::text)`,
    ])
      expect([call, await refusalOf(programs, `SELECT ${call}`)]).toEqual([call, PERMISSION_DENIED]);
    // Only names of the list are taken.
    for (const call of [
      `make_next_partition('merchants')`,
      `drop_released_partition('webhook_deliveries_first', false)`,
    ])
      expect([call, await refusalOf(programs, `SELECT ${call}`)]).toEqual([call, 'P0002']);
    for (const statement of [
      `INSERT INTO released_partitions VALUES ('webhook_deliveries_first', 'webhook_deliveries')`,
    ])
      expect(await refusalOf(programs, statement)).toBe(PERMISSION_DENIED);
  });
});
