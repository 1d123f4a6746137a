// Promise: what a register has answered cannot be changed, and no receipt, attempt or event be deleted, by the programs' own role; each right was tried.
import pg from 'pg';
import { createTestDatabase, sampleDocument, type TestDatabase } from '#database/testing';
import { newId } from '#runtime';

let database: TestDatabase;
let programs: pg.Client;
let owner: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  programs = new pg.Client({ connectionString: database.url });
  owner = new pg.Client({ connectionString: database.ownerUrl });
  await programs.connect();
  await owner.connect();
});
afterAll(async () => {
  await programs?.end();
  await owner?.end();
  await database?.drop();
});

/** The SQLSTATE with which a statement is refused; null when it is not. Nothing of it stays. */
async function refusalOf(client: pg.Client, statement: string, values: unknown[] = []): Promise<string | null> {
  await client.query('BEGIN');
  try {
    await client.query(statement, values);
    return null;
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error;
    return error.code ?? 'no code';
  } finally {
    await client.query('ROLLBACK');
  }
}

const PERMISSION_DENIED = '42501';
const FISCAL = '23000';

/** Columns that the programs have a reason to change, by table. */
const MOVING: Readonly<Record<string, readonly string[]>> = {
  receipts: [
    ...['status', 'updated_at', 'device_id', 'lane_place', 'dispatch_before', 'extra_info', 'rejection'],
    ...['terminal_id', 'receipt_seq', 'fiscal_sign', 'verification_url', 'registered_at', 'evidence'],
    ...['recorded_fields', 'shift_number', 'moved_from'],
    ...['ofd_status', 'ofd_deadline_at', 'ofd_sent_at', 'ofd_error', 'ofd_alerts'],
  ],
  attempts: ['state', 'closed_at', 'outcome'],
  events: ['transaction_id'],
};

describe.each(Object.keys(MOVING))('%s', (table) => {
  test('may be read and added to', async () => {
    expect(await refusalOf(programs, `SELECT * FROM ${table} LIMIT 1`)).toBeNull();
    const { rows } = await programs.query<{ may: boolean }>('SELECT has_table_privilege($1, $2) AS may', [
      table,
      'INSERT',
    ]);
    expect(rows).toEqual([{ may: true }]);
  });

  test('is neither deleted nor emptied by the programs', async () => {
    expect(await refusalOf(programs, `DELETE FROM ${table}`)).toBe(PERMISSION_DENIED);
    expect(await refusalOf(programs, `DELETE FROM ${table} WHERE false`)).toBe(PERMISSION_DENIED);
    expect(await refusalOf(programs, `TRUNCATE ${table} CASCADE`)).toBe(PERMISSION_DENIED);
    expect(await refusalOf(programs, `DROP TABLE ${table}`)).toBe(PERMISSION_DENIED);
    expect(await refusalOf(programs, `ALTER TABLE ${table} DISABLE TRIGGER ALL`)).toBe(PERMISSION_DENIED);
  });

  test('of its columns only those that move are changed by the programs', async () => {
    const { rows } = await owner.query<{ column_name: string }>(
      "SELECT column_name FROM information_schema.columns WHERE table_schema = 'public' AND table_name = $1",
      [table],
    );
    const changed: string[] = [];
    for (const { column_name: column } of rows) {
      const refusal = await refusalOf(programs, `UPDATE ${table} SET ${column} = ${column}`);
      if (refusal === null) changed.push(column);
      else expect([column, refusal]).toEqual([column, PERMISSION_DENIED]);
    }
    expect(changed.sort()).toEqual([...(MOVING[table] ?? [])].sort());
  });
});

test('no right comes to the programs by a role that they may take: under the one that there is, less is seen', async () => {
  const { rows } = await programs.query<{ role: string }>(
    "SELECT rolname AS role FROM pg_roles WHERE pg_has_role(current_user, oid, 'member') AND rolname <> current_user",
  );
  expect(rows).toEqual([{ role: 'fiscal_app_tenant' }]);
  const { rows: rights } = await owner.query<{ more: number; logs_in: boolean }>(
    `SELECT (SELECT count(*)::int4 FROM pg_class c, unnest('{SELECT,INSERT,UPDATE,DELETE,TRUNCATE}'::text[]) AS r(verb)
              WHERE c.relkind IN ('r', 'p') AND c.relnamespace IN ('public'::regnamespace, 'bullmq'::regnamespace)
                AND has_table_privilege('fiscal_app_tenant', c.oid, r.verb) AND NOT has_table_privilege('fiscal_app', c.oid, r.verb)) AS more,
            rolcanlogin OR rolbypassrls OR rolsuper AS logs_in FROM pg_roles WHERE rolname = 'fiscal_app_tenant'`,
  );
  expect(rights).toEqual([{ more: 0, logs_in: false }]);
  const tenant = new pg.Client({ connectionString: database.url });
  await tenant.connect();
  await tenant.query('SET ROLE fiscal_app_tenant');
  for (const [table, columns] of Object.entries(MOVING)) {
    for (const statement of [
      `DELETE FROM ${table}`,
      `TRUNCATE ${table} CASCADE`,
      `ALTER TABLE ${table} DISABLE ROW LEVEL SECURITY`,
    ]) {
      expect([statement, await refusalOf(tenant, statement)]).toEqual([statement, PERMISSION_DENIED]);
    }
    expect(await refusalOf(tenant, `UPDATE ${table} SET ${columns[0]} = ${columns[0]}`)).toBeNull();
  }
  await tenant.end();
});

test("no trigger that has its owner's rights can be put by the programs on a table of their own", async () => {
  const { rows } = await owner.query(
    `SELECT p.proname AS name, r.role FROM pg_proc p, unnest('{public,fiscal_app,fiscal_app_tenant}'::text[]) AS r(role)
      WHERE p.prosecdef AND p.prorettype = 'trigger'::regtype AND has_function_privilege(r.role, p.oid, 'EXECUTE')`,
  );
  expect(rows).toEqual([]);
});

describe('a registered receipt', () => {
  const REGISTERED = {
    ...{ terminal_id: 'UZ000000000001', receipt_seq: 7, fiscal_sign: '123456789012', evidence: 'answer' },
    ...{ verification_url: 'https://ofd.soliq.uz/check?t=UZ000000000001', registered_at: '2026-11-20T10:00:00Z' },
    ...{ recorded_fields: ['commission'], shift_number: 41 },
  };

  /** @param more other values of its fiscal fields */
  async function registered(more: Record<string, unknown> = {}): Promise<string> {
    const id = newId('rcp');
    const fields = { ...REGISTERED, receipt_seq: Math.floor(Math.random() * 1e12), ...more };
    await programs.query(
      `INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, document, total_tiyin,
                             vat_total_tiyin, terminal_id, receipt_seq, fiscal_sign, evidence, verification_url, registered_at,
                             recorded_fields, shift_number)
       VALUES ($1, 'mer_1', 'cli_1', 'receipts', '\\x00', 'sale', 'registered', $2, 112000, 12000, $3, $4, $5, $6, $7, $8, $9, $10)`,
      [id, JSON.stringify(sampleDocument()), ...Object.values(fields)],
    );
    return id;
  }

  const OTHERS: [string, string][] = [
    ['terminal_id', `'UZ000000000002'`],
    ['receipt_seq', '8'],
    ['fiscal_sign', `'999999999999'`],
    ['verification_url', `'https://elsewhere.example'`],
    ['registered_at', `'2026-11-21T10:00:00Z'`],
    ['evidence', `'operator'`],
    ['recorded_fields', `'{seller}'`],
    ['shift_number', '42'],
  ];

  test.each([...OTHERS, ...OTHERS.map(([column]): [string, string] => [column, 'NULL'])])(
    'keeps its %s: not %s, neither by the programs nor by the owner',
    async (column, value) => {
      const id = await registered();
      for (const client of [programs, owner]) {
        expect(await refusalOf(client, `UPDATE receipts SET ${column} = ${value} WHERE id = $1`, [id])).toBe(FISCAL);
      }
    },
  );

  test('does not become anything else', async () => {
    const id = await registered();
    for (const status of ['accepted', 'sending', 'unknown', 'rejected', 'cancelled', 'awaiting_payment']) {
      // The trigger receipts_change_legally.
      expect(await refusalOf(programs, `UPDATE receipts SET status = '${status}' WHERE id = $1`, [id])).toBe(FISCAL);
      const emptied = OTHERS.map(([column]) => `${column} = NULL`).join(', ');
      expect(
        await refusalOf(programs, `UPDATE receipts SET status = '${status}', ${emptied} WHERE id = $1`, [id]),
      ).toBe(FISCAL);
    }
  });

  test('is written a second time with the same values, as by an answer that comes again', async () => {
    const id = await registered();
    const same = OTHERS.map(([column]) => `${column} = ${column}`).join(', ');
    expect(await refusalOf(programs, `UPDATE receipts SET ${same} WHERE id = $1`, [id])).toBeNull();
  });

  test('gets the sign that was missing, once; with it the time, where the counters were the proof', async () => {
    const bare = { fiscal_sign: null, verification_url: null, evidence: 'counters' };
    const id = await registered(bare);
    const complete = `UPDATE receipts SET fiscal_sign = $2, verification_url = $3, registered_at = $4 WHERE id = $1`;
    const values = [id, '123456789012', 'https://ofd.soliq.uz/check', '2026-11-20T10:00:05Z'];
    expect(await refusalOf(programs, complete, values)).toBeNull();
    const byAnswer = await registered({ ...bare, evidence: 'answer' });
    expect(await refusalOf(programs, complete, [byAnswer, ...values.slice(1)])).toBe(FISCAL);
    await programs.query(complete, values);
    expect(await refusalOf(programs, complete, [id, '999999999999', ...values.slice(2)])).toBe(FISCAL);
    expect(await refusalOf(programs, complete, [...values.slice(0, 3), '2026-11-20T10:00:09Z'])).toBe(FISCAL);
  });

  test('its attempt stays registered; one that is not may still be decided', async () => {
    const id = await registered();
    const insert = `INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id)
                    VALUES ($1, $2, 'dev_1', $3, $4, '{}', '\\x00', 'rly_1')`;
    const [proven, unproven] = [newId('att'), newId('att')];
    await programs.query(insert, [proven, id, 1, 'registered']);
    await programs.query(insert, [unproven, id, 2, 'not_registered']);
    const move = `UPDATE attempts SET state = $2::attempt_state WHERE id = $1`;
    for (const client of [programs, owner]) {
      for (const state of ['open', 'rejected', 'not_registered', 'unknown'])
        expect([state, await refusalOf(client, move, [proven, state])]).toEqual([state, FISCAL]);
    }
    expect(await refusalOf(programs, move, [unproven, 'unknown'])).toBeNull();
  });
});
