// Promise: a database that was put back from a copy sends no receipt to a register that may have it and cannot say so.
import pg from 'pg';
import { createLogger } from '#runtime';
import { RenumberEvents } from '../events/renumber-events.js';
import { holdAfterRestore } from './hold-after-restore.js';
import { untilWaiting } from '../../../../test/database/conversions.js';
import { LaneRows } from '../lanes/testing/lane-rows.js';

let rows: LaneRows;
let session: pg.Client;
const logger = createLogger('test', 'silent');

beforeAll(async () => {
  rows = await LaneRows.start();
  session = new pg.Client({ connectionString: rows.database.url });
  await session.connect();
});
afterAll(async () => {
  await session.end();
  await rows.stop();
});
beforeEach(async () => {
  await rows.clear();
  await rows.sql.query('DELETE FROM database_identity');
});

const statesOf = async (): Promise<unknown[]> => {
  const { rows: found } = await rows.sql.query(
    `SELECT d.id, d.state::text AS device, r.status::text AS receipt, a.state::text AS attempt
       FROM devices d LEFT JOIN receipts r ON r.device_id = d.id LEFT JOIN attempts a ON a.receipt_id = r.id ORDER BY 1`,
  );
  return found;
};

test('the database that we know, and the first one that we meet: nothing is held', async () => {
  await rows.createReceipt();
  await holdAfterRestore(session, logger);
  await holdAfterRestore(session, logger);
  expect(await statesOf()).toEqual([{ id: 'dev_1', device: 'online', receipt: 'accepted', attempt: null }]);
});

test('a migration that makes the table of receipts anew is no restore, also of a relay that begins meanwhile', async () => {
  await holdAfterRestore(session, logger);
  const owner = new pg.Client({ connectionString: rows.database.ownerUrl });
  await owner.connect();
  try {
    await owner.query(`
      BEGIN;
      ALTER TABLE receipts RENAME TO receipts_before;
      CREATE TABLE receipts (LIKE receipts_before);
      UPDATE database_identity SET identity = regexp_replace(identity, '[0-9]+$', 'receipts'::regclass::oid::text)`);
    const begun = holdAfterRestore(session, logger);
    await untilWaiting(session, owner);
    await owner.query('COMMIT');
    await begun;
    expect((await rows.sql.query('SELECT state::text FROM devices')).rows).toEqual([{ state: 'online' }]);
  } finally {
    await owner.query('DROP TABLE receipts; ALTER TABLE receipts_before RENAME TO receipts');
    await owner.end();
  }
});

test('it is bounded as the statements of lanes are, unless the database is another one', async () => {
  let calls = 0;
  const takesLong = (): Promise<void> => {
    calls += 1;
    return Promise.resolve();
  };
  await holdAfterRestore(session, logger, takesLong);
  await holdAfterRestore(session, logger, takesLong);
  expect(calls).toBe(0);
  await rows.sql.query("UPDATE database_identity SET identity = 'the one before'");
  await holdAfterRestore(session, logger, takesLong);
  await holdAfterRestore(session, logger, takesLong);
  expect(calls).toBe(1);
});

test('another one: registers without a journal stop and what waits there is unknown; once', async () => {
  await rows.createDevice('dev_journal');
  await rows.createDevice('dev_never_met');
  await rows.sql.query("UPDATE devices SET journal_id = 'j', terminal_id = 'UZ2' WHERE id = 'dev_journal'");
  await rows.createReceipt();
  await rows.createReceipt({ deviceId: 'dev_journal' });
  await rows.sql.query("INSERT INTO database_identity (identity) VALUES ('the one before')");
  await rows.sql.query(
    `INSERT INTO events (id, merchant_id, type, subject_id, data, transaction_id)
     VALUES ('evt_1', 'mer_1', 'receipt.accepted', 'rcp_1', '{}', '999999999999')`,
  );
  await holdAfterRestore(session, logger);
  await holdAfterRestore(session, logger);
  expect(await statesOf()).toEqual([
    { id: 'dev_1', device: 'replaced', receipt: 'unknown', attempt: 'unknown' },
    { id: 'dev_journal', device: 'online', receipt: 'accepted', attempt: null },
    { id: 'dev_never_met', device: 'online', receipt: null, attempt: null },
  ]);
  while (await new RenumberEvents(rows.prisma, logger).run());
  const { rows: events } = await rows.sql.query(
    'SELECT type, transaction_id < pg_current_xact_id() AS is_readable FROM events ORDER BY position',
  );
  expect(events).toEqual([
    { type: 'receipt.accepted', is_readable: true },
    { type: 'device.replaced', is_readable: true },
    { type: 'receipt.unknown', is_readable: true },
  ]);
});

test.each([
  ['disabled', 'disabled by a person'],
  ['replaced', 'another journal answers'],
  ['claimed_elsewhere', 'another merchant holds it'],
])('a register without a journal that is %s stays so, and is compared all the same', async (state, reason) => {
  await rows.createReceipt();
  await rows.sql.query('DELETE FROM restore_checks');
  await rows.sql.query(
    `UPDATE devices SET state = $1::device_state, state_reason = $2, terminal_id = 'UZ1', state_since = now() + interval '1 hour'`,
    [state, reason],
  );
  await rows.sql.query("INSERT INTO database_identity (identity) VALUES ('the one before')");
  await holdAfterRestore(session, logger);
  expect(await statesOf()).toEqual([{ id: 'dev_1', device: state, receipt: 'unknown', attempt: 'unknown' }]);
  expect(await rows.one('SELECT state_reason FROM devices')).toEqual({ state_reason: reason });
  const { rows: checks } = await rows.sql.query(
    'SELECT c.verdict, d.state_since < c.restored_at AS before FROM restore_checks c JOIN devices d ON d.id = c.device_id WHERE attempt_id IS NULL',
  );
  // The clock of the server before may have been ahead.
  expect(checks).toEqual([{ verdict: 'unproven', before: state === 'disabled' }]);
});

test('nothing that the copy has as unfinished is newer than its restore, by whatever clock: neither a payment nor a refund', async () => {
  const receipt = await rows.createReceipt({ status: 'awaiting_payment' });
  await rows.sql.query(
    `INSERT INTO provider_accounts (id, merchant_id, provider, name, settings, credentials_sealed)
     VALUES ('pac_1', 'mer_1', 'click', 'Click', '{}', '\\x00')`,
  );
  await rows.sql.query(
    `INSERT INTO payments (id, merchant_id, account_id, receipt_id, provider, flow, state, amount_tiyin, expires_at, created_at)
     VALUES ('pay_1', 'mer_1', 'pac_1', $1, 'click', 'charge', 'created', 1, now(), now() + interval '1 hour')`,
    [receipt],
  );
  const isNewer = async (table: string): Promise<unknown> => {
    await rows.sql.query(
      "DELETE FROM database_identity; INSERT INTO database_identity (identity) VALUES ('the one before')",
    );
    await holdAfterRestore(session, logger);
    return rows.one(`SELECT t.created_at > i.changed_at AS newer FROM ${table} t, database_identity i`);
  };
  try {
    expect(await isNewer('payments')).toEqual({ newer: false });
    await rows.sql.query(
      `INSERT INTO payment_refunds (payment_id, amount_tiyin, state, reason, created_at)
       VALUES ('pay_1', 1, 'requested', 'returned', now() + interval '2 hours')`,
    );
    expect(await isNewer('payment_refunds')).toEqual({ newer: false });
  } finally {
    await rows.sql.query('DELETE FROM payment_refunds; DELETE FROM payments; DELETE FROM provider_accounts');
  }
});

test('while pollers and lanes write the same registers in another order: it is done at the first try', async () => {
  await rows.sql.query(
    `INSERT INTO devices (id, merchant_id, branch_id, name, base_url, api_key_sealed, profile, terminal_id)
     SELECT 'dev_many_' || n, 'mer_1', 'brn_1', 'Till', 'http://127.0.0.1:1', '\\x00', '{"sharing": "exclusive"}', 'T' || n
       FROM generate_series(1, 5000) AS n`,
  );
  await rows.sql.query("INSERT INTO lanes (device_id) SELECT id FROM devices WHERE id LIKE 'dev_many_%'");
  await rows.sql.query("INSERT INTO database_identity (identity) VALUES ('the one before')");
  const poller = new pg.Client({ connectionString: rows.database.url });
  await poller.connect();
  let isOver = false;
  const polling = (async (): Promise<void> => {
    while (!isOver) {
      // Two registers in one transaction, the later one first, as a grouped write meets them.
      await poller.query('BEGIN');
      for (const number of [5_000, 1]) {
        await poller.query(`UPDATE devices SET state_since = now() WHERE id = 'dev_many_' || $1::int4`, [number]);
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
      await poller.query('COMMIT');
    }
  })();
  try {
    await new Promise((resolve) => setTimeout(resolve, 100));
    await holdAfterRestore(session, logger);
  } finally {
    isOver = true;
    await polling.catch((error: unknown) => expect(error).toBeUndefined());
    await poller.end();
  }
  const { rows: states } = await rows.sql.query<{ n: string }>(
    "SELECT count(*) AS n FROM devices WHERE state = 'replaced'",
  );
  expect(Number(states[0]?.n)).toBe(5_000);
});

describe('a server that denies its control file and its log, as managed ones may', () => {
  const DENIED = [
    'pg_control_system()',
    'pg_control_checkpoint()',
    'pg_walfile_name(pg_lsn)',
    'pg_current_wal_insert_lsn()',
  ];
  let admin: pg.Client;

  beforeEach(async () => {
    admin = new pg.Client({ connectionString: rows.database.adminUrl });
    await admin.connect();
  });
  afterEach(async () => {
    for (const name of DENIED) await admin.query(`GRANT EXECUTE ON FUNCTION ${name} TO PUBLIC`);
    await admin.end();
  });

  async function deny(): Promise<void> {
    for (const name of DENIED) await admin.query(`REVOKE EXECUTE ON FUNCTION ${name} FROM PUBLIC`);
  }

  test('lanes are taken all the same, and the log says what is weaker', async () => {
    const lines: string[] = [];
    const listening = createLogger('test', 'info', { write: (line) => void lines.push(line) });
    await deny();
    await rows.createReceipt();
    await holdAfterRestore(session, listening);
    await holdAfterRestore(session, listening);
    expect(await statesOf()).toEqual([{ id: 'dev_1', device: 'online', receipt: 'accepted', attempt: null }]);
    expect(lines.join('')).toContain('the server does not say which database it is');
  });

  test('its answers are still compared', async () => {
    await deny();
    await rows.createReceipt();
    await holdAfterRestore(session, logger);
    await rows.sql.query("UPDATE database_identity SET identity = regexp_replace(identity, '[0-9]+$', '1')");
    await holdAfterRestore(session, logger);
    expect(await statesOf()).toEqual([{ id: 'dev_1', device: 'replaced', receipt: 'unknown', attempt: 'unknown' }]);
  });

  test('a right that is taken away or given is not another database', async () => {
    await rows.createReceipt();
    await holdAfterRestore(session, logger);
    await deny();
    await holdAfterRestore(session, logger);
    for (const name of DENIED) await admin.query(`GRANT EXECUTE ON FUNCTION ${name} TO PUBLIC`);
    await holdAfterRestore(session, logger);
    expect(await statesOf()).toEqual([{ id: 'dev_1', device: 'online', receipt: 'accepted', attempt: null }]);
  });
});
