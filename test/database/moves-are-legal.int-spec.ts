// Promise: no writer, the owner in psql included, moves a receipt, an attempt or a payment other than along the legal moves.
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import { LEGAL_PAIRS } from '../../libs/ledger/src/legal-pairs.js';

let database: TestDatabase;
let owner: pg.Client;

beforeAll(async () => {
  database = await createTestDatabase();
  owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
  await owner.query(`
    INSERT INTO provider_accounts (id, merchant_id, provider, name, settings, credentials_sealed)
    VALUES ('acc_1', 'mer_1', 'click', 'Click', '{}', '\\x00')`);
});
afterAll(async () => {
  await owner?.end();
  await database?.drop();
});

const FISCAL = `terminal_id = 'UZ000000000001', receipt_seq = 1, registered_at = now()`;

async function receiptIn(status: string): Promise<void> {
  const fiscal = status === 'registered' ? `'UZ000000000001', 1, now()` : 'NULL, NULL, NULL';
  await owner.query(
    `INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, lane_place, device_id, document,
                           total_tiyin, vat_total_tiyin, terminal_id, receipt_seq, registered_at)
     VALUES ('rcp_1', 'mer_1', 'cli_1', 'receipts', '', 'sale', $1, 1, 'dev_1', '{}', 1, 0, ${fiscal})`,
    [status],
  );
}

/** A row of each table in this state. */
const ROW_IN: Record<string, (state: string) => Promise<unknown>> = {
  receipts: receiptIn,
  attempts: async (state) => {
    await receiptIn('sending');
    await owner.query(
      `INSERT INTO attempts (id, receipt_id, device_id, number, state, baseline, request, relay_id)
       VALUES ('att_1', 'rcp_1', 'dev_1', 1, $1, '{}', '', 'rly_1')`,
      [state],
    );
  },
  payments: async (state) => {
    await receiptIn('awaiting_payment');
    await owner.query(
      `INSERT INTO payments (id, merchant_id, account_id, receipt_id, provider, flow, state, amount_tiyin, expires_at)
       VALUES ('pay_1', 'mer_1', 'acc_1', 'rcp_1', 'click', 'charge', $1, 1, now())`,
      [state],
    );
  },
  payment_refunds: async (state) => {
    await ROW_IN['payments']!('captured');
    await owner.query(
      `INSERT INTO payment_refunds (payment_id, amount_tiyin, state, reason) VALUES ('pay_1', 1, $1, 'a test')`,
      [state],
    );
  },
};

/** Null: it may. Else the name of the trigger that has refused. */
async function refusalOf(move: string): Promise<string | null> {
  try {
    const { rowCount } = await owner.query(move);
    return rowCount === 1 ? null : `${rowCount} rows`;
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error;
    expect(error.code).toBe('23000');
    return error.constraint ?? error.message;
  }
}

describe.each(LEGAL_PAIRS)('$table', ({ table, column, states, pairs }) => {
  const legal = new Set(pairs.map((pair) => pair.join(' → ')));

  test.each(states)('out of %s only where the table of moves leads', async (from) => {
    const found: [string, string | null][] = [];
    for (const to of states) {
      await owner.query('BEGIN');
      await ROW_IN[table]!(from);
      const more = table === 'receipts' && to === 'registered' && from !== 'registered' ? `, ${FISCAL}` : '';
      found.push([to, await refusalOf(`UPDATE ${table} SET ${column} = '${to}'${more}`)]);
      await owner.query('ROLLBACK');
    }
    const wanted = (to: string): string | null =>
      to === from || legal.has(`${from} → ${to}`) ? null : `${table}_move_legally`;
    expect(found).toEqual(states.map((to) => [to, wanted(to)]));
  });

  test('has no state that the table of moves does not know', async () => {
    const { rows } = await owner.query<{ label: string }>(
      `SELECT e.enumlabel AS label FROM pg_enum e JOIN pg_attribute a ON a.atttypid = e.enumtypid
        WHERE a.attrelid = $1::regclass AND a.attname = $2 ORDER BY e.enumsortorder`,
      [table, column],
    );
    expect(rows.map(({ label }) => label)).toEqual([...states]);
  });
});

test.each([
  ['receipts', 4_500],
  ['attempts', 500],
])(
  'conditions of the triggers of %s are %i characters at most: each statement of a lane copies them',
  async (table, most) => {
    const { rows } = await owner.query<{ table: string; length: number }>(
      `SELECT t.tgrelid::regclass::text AS table, sum(length(t.tgqual::text))::int AS length FROM pg_trigger t
      WHERE NOT t.tgisinternal AND t.tgrelid IN (SELECT relid FROM pg_partition_tree($1)) GROUP BY t.tgrelid`,
      [table],
    );
    expect(rows.length).toBeGreaterThan(1);
    expect(rows.filter(({ length }) => length > most)).toEqual([]);
  },
);
