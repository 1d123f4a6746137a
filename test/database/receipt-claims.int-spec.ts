// Promise: an installation with receipts gets the claims of their keys, external ids and registrations while sales are written, also when that is
// killed; each is one receipt's over all time, as by the unique indexes before, whichever program writes, and no program may change a claim.
import type pg from 'pg';
import { PrismaService, withinMerchant } from '#database';
import { createEmptyDatabase, createTestDatabase } from '#database/testing';
import { findIdentities, type StoredIdentity } from '#ledger';
import { isRowContended, newId, newIdOf } from '#runtime';
import { migrate, readMigrations } from '../../scripts/lib/migrations.mjs';
import {
  connect,
  grantAsBefore,
  migrateAndDieWhen,
  moreWritten,
  OLD_RECEIPT,
  refusalOf,
  untilWaiting,
  writtenDuring,
} from './conversions.js';

const FIRST = '20261127200000_receipt_claims';
const FILLED = '20261127200100_receipt_claims_filled';
const UNIQUE = ['receipts_one_per_key', 'receipts_one_per_external_id', 'receipts_one_per_registration_of_merchant'];
const OF_MERCHANT = `merchant_id = current_setting('fgw.merchant_id', true)`;
const UNIQUE_VIOLATION = '23505';
const PERMISSION_DENIED = '42501';

/** As all programs write a receipt: left out where its key or external id is taken. */
const ACCEPT = `
  INSERT INTO receipts (id, merchant_id, client_id, operation, idempotency_key, external_id, body_hash, type, status, lane_place, device_id, document,
                        total_tiyin, vat_total_tiyin)
  VALUES ($1, $2, 'cli_' || $2, 'receipts', $3, $4, '', 'sale', 'accepted', nextval('lane_place_seq'), 'dev_1', '{}', 1, 0)
      ON CONFLICT DO NOTHING RETURNING id`;
const REGISTER = `
  UPDATE receipts SET status = 'registered', terminal_id = $2, receipt_seq = $3, registered_at = now(), evidence = 'answer' WHERE id = $1`;

interface Sale {
  id?: string;
  merchantId?: string;
  key?: string | null;
  externalId?: string | null;
}

/** @returns its id; null: it was left out */
async function accept(client: pg.Client, { id, merchantId = 'mer_1', key, externalId }: Sale): Promise<string | null> {
  const values = [id ?? newId('rcp'), merchantId, key ?? null, externalId ?? null];
  const { rows } = await client.query<{ id: string }>(ACCEPT, values);
  return rows[0]?.id ?? null;
}

/** Every claim that a receipt has, and every claim that is there, by what is claimed: the same if none is missing, too many or another receipt's. */
async function claimsAndReceipts(owner: pg.Client): Promise<[string, string]> {
  const digest = async (table: string, columns: string, condition: string): Promise<string> => {
    const { rows } = await owner.query<{ digest: string }>(
      `SELECT count(*) || ' ' || coalesce(md5(string_agg(concat_ws('|', ${columns}), ',' ORDER BY concat_ws('|', ${columns}))), '') AS digest
         FROM ${table} WHERE ${condition}`,
    );
    return rows[0]?.digest ?? '';
  };
  const kinds = [
    ['idempotency_claims', 'client_id, operation, idempotency_key', 'idempotency_key'],
    ['external_id_claims', 'merchant_id, external_id', 'external_id'],
    ['registration_claims', 'terminal_id, receipt_seq, merchant_id', 'receipt_seq'],
  ] as const;
  const claims: string[] = [];
  const receipts: string[] = [];
  for (const [table, columns, key] of kinds) {
    claims.push(await digest(table, `${columns}, receipt_id`, 'true'));
    receipts.push(await digest('receipts', `${columns}, id`, `${key} IS NOT NULL`));
  }
  return [claims.join(' '), receipts.join(' ')];
}

describe('a filled database', () => {
  const ROWS = 20_000;
  let database: Awaited<ReturnType<typeof createEmptyDatabase>>;
  let owner: pg.Client;
  const migrations = readMigrations();

  beforeAll(async () => {
    database = await createEmptyDatabase();
    const before = migrations.filter(({ name }) => name < FIRST);
    await migrate({ migrateDatabaseUrl: database.ownerUrl, databaseUrl: undefined, migrations: before });
    owner = await connect(database.ownerUrl);
    await grantAsBefore(owner, { receipts: OF_MERCHANT });
    await owner.query(
      `INSERT INTO receipts (id, merchant_id, client_id, operation, idempotency_key, external_id, body_hash, type, status, terminal_id, receipt_seq,
                             registered_at, document, total_tiyin, vat_total_tiyin)
       SELECT ${OLD_RECEIPT}, 'mer_1', 'cli_mer_1', 'receipts', CASE WHEN n % 3 > 0 THEN 'old-' || n END, CASE WHEN n % 3 < 2 THEN 'old-' || n END, '',
              'sale', CASE WHEN n % 5 = 0 THEN 'rejected' ELSE 'registered' END::receipt_status, CASE WHEN n % 5 > 0 THEN 'UZ' || n % 7 END,
              CASE WHEN n % 5 > 0 THEN n END, CASE WHEN n % 5 > 0 THEN now() END, '{}', 1, 0 FROM generate_series(1, ${ROWS}) AS n`,
    );
  });
  afterAll(async () => {
    await owner?.end();
    await database?.drop();
  });

  async function digestOfOld(): Promise<unknown> {
    const { rows } = await owner.query<{ digest: string }>(
      `SELECT md5(string_agg(r::text, ',' ORDER BY id)) AS digest FROM receipts r WHERE id ~ '_01ka0'`,
    );
    return rows[0]?.digest;
  }

  let sold = 0;
  /** As the release before sells: every third sale repeats the key or the external id of one that was there. */
  async function sell(client: pg.Client): Promise<string> {
    sold += 1;
    const number = sold;
    const old = `old-${String(1 + ((number * 7919) % ROWS))}`;
    if (number % 3 === 0) {
      const [key, externalId] = number % 2 === 0 ? [old, null] : [`new-${String(number)}`, old];
      const taken = await client.query(
        `SELECT FROM receipts WHERE (client_id = 'cli_mer_1' AND idempotency_key = $1) OR (merchant_id = 'mer_1' AND external_id = $2)`,
        [key, externalId],
      );
      const repeated = await accept(client, { key, externalId });
      if (taken.rows.length > 0 && repeated !== null) throw new Error(`${old} was sold twice`);
    }
    const id = newIdOf('rcp', number % 2 === 0 ? 'mer_test_1' : 'mer_1');
    const accepted = await accept(client, { id, key: `sale-${String(number)}`, externalId: `sale-${String(number)}` });
    if (accepted === null) throw new Error('a sale was left out');
    await client.query(REGISTER, [id, 'UZ_writer', number]);
    return id;
  }

  test('gets its claims while sales are written; killed in the middle and repeated, none is missing, and none is of another receipt', async () => {
    const before = await digestOfOld();
    const written = await writtenDuring(database, sell, async (soFar) => {
      const upToFirst = migrations.filter(({ name }) => name < FILLED);
      await migrate({ migrateDatabaseUrl: database.ownerUrl, databaseUrl: undefined, migrations: upToFirst });
      await moreWritten(soFar, 20);
      // It waits for this claim, and is killed there.
      const holder = await connect(database.ownerUrl);
      await holder.query('BEGIN');
      await holder.query('INSERT INTO external_id_claims VALUES ($1, $2, $3)', [
        'mer_1',
        `old-${String(ROWS - 998)}`,
        'x',
      ]);
      await migrateAndDieWhen(database, async (watcher) => {
        const { rows } = await watcher.query(
          `SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid)
            WHERE NOT l.granted AND a.query = 'CALL fill_receipt_claims()' AND a.datname = current_database()`,
        );
        return rows.length > 0;
      });
      await holder.query('ROLLBACK');
      await holder.end();
      const { rows } = await owner.query<{ up_to: string }>('SELECT up_to FROM receipt_claims_filled');
      expect(rows.filter(({ up_to: upTo }) => upTo > `rcp_01ka${'2'.padStart(22, '0')}`)).toHaveLength(1);
      await migrate({ migrateDatabaseUrl: database.ownerUrl, databaseUrl: undefined });
      await moreWritten(soFar, 20);
    });
    expect(written.length).toBeGreaterThan(40);
    expect(await digestOfOld()).toBe(before);
    const [claims, receipts] = await claimsAndReceipts(owner);
    expect(claims).toBe(receipts);
    // What the release before finds receipts by stays until the next one.
    const { rows: indexes } = await owner.query(
      `SELECT to_regclass('parts.' || n) IS NOT NULL AS there FROM unnest($1::text[]) AS n`,
      [UNIQUE],
    );
    expect(indexes).toEqual(UNIQUE.map(() => ({ there: true })));
  });
});

describe('a new database', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  let owner: pg.Client;
  let admin: pg.Client;
  let programs: pg.Client;
  let others: pg.Client;

  beforeAll(async () => {
    database = await createTestDatabase();
    owner = await connect(database.ownerUrl);
    admin = await connect(database.adminUrl);
    programs = await connect(database.url);
    others = await connect(database.url);
  });
  afterEach(async () => {
    const [claims, receipts] = await claimsAndReceipts(owner);
    expect(claims).toBe(receipts);
  });
  afterAll(async () => {
    for (const client of [owner, admin, programs, others]) await client?.end();
    await database?.drop();
  });

  test('has no unique indexes beside its claims', async () => {
    const { rows } = await owner.query('SELECT to_regclass(n) AS there FROM unnest($1::text[]) AS n', [UNIQUE]);
    expect(rows).toEqual(UNIQUE.map(() => ({ there: null })));
  });

  test.each([
    ['key', (taken: string) => ({ key: taken })],
    ['external id', (taken: string) => ({ externalId: taken })],
  ])('leaves out a second receipt with the %s of one, and takes it from another merchant', async (_what, saleOf) => {
    const sale = saleOf(newId('evt'));
    expect(await accept(programs, sale)).not.toBeNull();
    expect(await accept(programs, sale)).toBeNull();
    expect(await accept(programs, { ...sale, merchantId: 'mer_2' })).not.toBeNull();
  });

  test('leaves out the second of two in one statement', async () => {
    const key = newId('evt');
    const { rows } = await programs.query(
      `INSERT INTO receipts (id, merchant_id, client_id, operation, idempotency_key, body_hash, type, status, document, total_tiyin, vat_total_tiyin)
       SELECT id, 'mer_1', 'cli_1', 'receipts', $2, '', 'sale', 'awaiting_payment', '{}', 1, 0 FROM unnest($1::text[]) AS id
           ON CONFLICT DO NOTHING RETURNING id`,
      [[newId('rcp'), newId('rcp')], key],
    );
    expect(rows).toHaveLength(1);
  });

  test('does not keep the key of a receipt whose external id is taken', async () => {
    const [externalId, key] = [newId('evt'), newId('evt')];
    await accept(programs, { externalId });
    expect(await accept(programs, { key, externalId })).toBeNull();
    expect(await accept(programs, { key })).not.toBeNull();
  });

  test.each([
    ['COMMIT', false],
    ['ROLLBACK', true],
  ])('lets who waits for a key in after %s: %s', async (end, isIn) => {
    const key = newId('evt');
    await programs.query('BEGIN');
    await accept(programs, { key });
    const waiting = accept(others, { key });
    await untilWaiting(others, owner);
    await programs.query(end);
    expect((await waiting) !== null).toBe(isIn);
  });

  test('says to who gives up waiting that it was for a row of receipts', async () => {
    const key = newId('evt');
    await programs.query('BEGIN');
    await accept(programs, { key });
    await others.query(`BEGIN; SET LOCAL lock_timeout = '50ms'`);
    const error: unknown = await accept(others, { key }).catch((refused: unknown) => refused);
    await others.query('ROLLBACK');
    await programs.query('ROLLBACK');
    expect(isRowContended(error, 'receipts')).toBe(true);
  });

  test('refuses the registration of another receipt, with the name that programs know, and takes it from another merchant', async () => {
    const ids = [newId('rcp'), newId('rcp'), newId('rcp')] as const;
    for (const [index, id] of ids.entries())
      await accept(programs, { id, merchantId: index === 2 ? 'mer_2' : 'mer_1' });
    const registration = ['UZ000000000001', 7] as const;
    await programs.query(REGISTER, [ids[0], ...registration]);
    await expect(programs.query(REGISTER, [ids[1], ...registration])).rejects.toMatchObject({
      ...{ code: UNIQUE_VIOLATION, constraint: 'receipts_one_per_registration_of_merchant', table: 'receipts' },
    });
    await programs.query(REGISTER, [ids[2], ...registration]);
    const { rows } = await programs.query('SELECT status FROM receipts WHERE id = $1', [ids[1]]);
    expect(rows).toEqual([{ status: 'accepted' }]);
  });

  test('takes a receipt whose own claims are there: partitions change, or a backup brings claims first', async () => {
    const id = newId('rcp');
    await accept(programs, { id, key: id, externalId: id });
    await programs.query(REGISTER, [id, 'UZ_back', 1]);
    await admin.query(`BEGIN; SET LOCAL session_replication_role = replica`);
    await admin.query('CREATE TEMP TABLE kept AS SELECT * FROM receipts WHERE id = $1', [id]);
    await admin.query('DELETE FROM receipts WHERE id = $1', [id]);
    await admin.query('COMMIT');
    // Its key is not free meanwhile.
    expect(await accept(programs, { key: id })).toBeNull();
    expect(await accept(programs, { externalId: id })).toBeNull();
    expect((await admin.query('INSERT INTO receipts SELECT * FROM kept')).rowCount).toBe(1);
    await admin.query('DROP TABLE kept');
  });

  test('keeps the claims of a row that one statement removes and writes anew', async () => {
    const id = newId('rcp');
    await accept(programs, { id, key: id, externalId: id });
    await programs.query(REGISTER, [id, 'UZ_anew', 1]);
    await owner.query(
      'WITH gone AS (DELETE FROM receipts WHERE id = $1 RETURNING *) INSERT INTO receipts SELECT * FROM gone',
      [id],
    );
    expect(await accept(programs, { key: id })).toBeNull();
  });

  test('follows what an owner does by hand', async () => {
    const [id, key, other] = [newId('rcp'), newId('evt'), newId('evt')];
    await accept(programs, { id, key, externalId: key });
    await programs.query(REGISTER, [id, 'UZ_hand', 1]);
    await owner.query('UPDATE receipts SET idempotency_key = $2, external_id = NULL WHERE id = $1', [id, other]);
    expect(await accept(programs, { key, externalId: key })).not.toBeNull();
    expect(await refusalOf(owner, 'UPDATE receipts SET idempotency_key = $2 WHERE id = $1', [id, key])).toBe(
      UNIQUE_VIOLATION,
    );
    await owner.query('DELETE FROM receipts WHERE id = $1', [id]);
    expect(await accept(programs, { key: other })).not.toBeNull();
    await owner.query('BEGIN; TRUNCATE receipts');
    expect(await claimsAndReceipts(owner)).toEqual(['0  0  0 ', '0  0  0 ']);
    await owner.query('ROLLBACK');
  });

  test.each(['idempotency_claims', 'external_id_claims', 'registration_claims'])(
    'no program changes %s',
    async (table) => {
      await accept(programs, { key: newId('evt'), externalId: newId('evt') });
      for (const statement of [
        `INSERT INTO ${table} SELECT * FROM ${table}`,
        `UPDATE ${table} SET receipt_id = 'x'`,
        `DELETE FROM ${table}`,
        `TRUNCATE ${table}`,
      ])
        expect([statement, await refusalOf(programs, statement)]).toEqual([statement, PERMISSION_DENIED]);
    },
  );

  test('a merchant sees its own claims alone', async () => {
    const id = newId('rcp');
    await accept(programs, { id, merchantId: 'mer_9', key: id, externalId: id });
    await programs.query(REGISTER, [id, 'UZ_nine', 1]);
    const seen = async (merchantId: string): Promise<unknown[]> => {
      await programs.query('BEGIN; SET LOCAL ROLE fiscal_app_tenant');
      await programs.query(`SELECT set_config('fgw.merchant_id', $1, true)`, [merchantId]);
      const { rows } = await programs.query(
        `SELECT (SELECT count(*)::int4 FROM idempotency_claims WHERE idempotency_key = $1) AS keys,
                (SELECT count(*)::int4 FROM external_id_claims WHERE external_id = $1) AS ids,
                (SELECT count(*)::int4 FROM registration_claims WHERE terminal_id = 'UZ_nine') AS registrations`,
        [id],
      );
      await programs.query('ROLLBACK');
      return rows;
    };
    expect(await seen('mer_9')).toEqual([{ keys: 1, ids: 1, registrations: 1 }]);
    expect(await seen('mer_1')).toEqual([{ keys: 0, ids: 0, registrations: 0 }]);
  });

  test('what a person repeats is found within its merchant', async () => {
    const prisma = new PrismaService({ url: database.url, poolSize: 1, applicationName: 'test', lockTimeoutMs: 5_000 });
    const sale = {
      id: newId('rcp'),
      merchantId: 'mer_9',
      clientId: 'cli_mer_9',
      operation: 'receipts',
      externalId: null,
    };
    const wanted = { ...sale, idempotencyKey: newId('evt'), bodyHash: Buffer.alloc(0) };
    await accept(programs, { id: sale.id, merchantId: 'mer_9', key: wanted.idempotencyKey });
    const find = (merchantId: string): Promise<StoredIdentity[]> =>
      withinMerchant(merchantId, () => findIdentities(prisma, [{ ...wanted, id: newId('rcp') }]));
    expect(await find('mer_9')).toEqual([wanted]);
    expect(await find('mer_1')).toEqual([]);
    await prisma.$disconnect();
  });
});
