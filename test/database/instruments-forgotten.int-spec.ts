// Promise: a payment with which nothing is taken any more keeps no card token, one that waits for its customer does, and both are so after the upgrade.
import pg from 'pg';
import { createEmptyDatabase } from '#database/testing';
import { needsNoInstrument, PAYMENT_STATES } from '#payments';
import { migrate, readMigrations } from '../../scripts/lib/migrations.mjs';

const FIRST = '20261130122109_instruments_forgotten';

test('tokens of payments that ended before are forgotten, in pieces, and no other', async () => {
  const database = await createEmptyDatabase();
  const owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
  const migrateWhile = (is: (name: string) => boolean): Promise<unknown> => {
    const migrations = readMigrations().filter(({ name }) => is(name));
    return migrate({ migrateDatabaseUrl: database.ownerUrl, databaseUrl: undefined, migrations });
  };
  try {
    await migrateWhile((name) => name < FIRST);
    await owner.query(`
      INSERT INTO merchants (id, code, name, tin) VALUES ('mer_1', 'm1', 'M', '300000000');
      INSERT INTO provider_accounts (id, merchant_id, provider, name, settings, credentials_sealed) VALUES ('pac_1', 'mer_1', 'payme', 'P', '{}', '')`);
    // More than one piece of each state.
    await owner.query(
      `INSERT INTO payments (id, merchant_id, account_id, receipt_id, provider, flow, state, amount_tiyin, instrument_sealed, expires_at)
       SELECT 'pay_' || lpad(n::text, 26, '0'), 'mer_1', 'pac_1', 'rcp_' || n, 'payme', 'hold', s.state::payment_state, 100, '\\x01', now()
         FROM unnest($1::text[]) WITH ORDINALITY AS s(state, ordinal), generate_series(1, 300) AS g
        CROSS JOIN LATERAL (SELECT g * 100 + s.ordinal AS n) o`,
      [PAYMENT_STATES],
    );
    await migrateWhile(() => true);
    const { rows } = await owner.query<{ state: string; kept: string }>(
      'SELECT state::text, count(instrument_sealed) AS kept FROM payments GROUP BY state',
    );
    const expected = PAYMENT_STATES.map((state) => [state, needsNoInstrument(state) ? '0' : '300']);
    expect(Object.fromEntries(rows.map(({ state, kept }) => [state, kept]))).toEqual(Object.fromEntries(expected));
  } finally {
    await owner.end();
    await database.drop();
  }
});
