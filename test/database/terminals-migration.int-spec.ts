// Promise: an installation with data gets one holder for each terminal, and keeps its receipts, devices and shifts.
import pg from 'pg';
import { createEmptyDatabase, type TestDatabase } from '#database/testing';
import { migrate, readMigrations } from '../../scripts/lib/migrations.mjs';

const FIRST_OF_TERMINALS = '20261122095123_terminals';

let database: TestDatabase;
let owner: pg.Client;

beforeAll(async () => {
  database = await createEmptyDatabase();
  owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
});
afterAll(async () => {
  await owner?.end();
  await database?.drop();
});

const device = (id: string, merchant: number, terminalId: string | null, deletedAt: string | null): Promise<unknown> =>
  owner.query(
    `INSERT INTO devices (id, merchant_id, branch_id, name, base_url, api_key_sealed, terminal_id, deleted_at)
     VALUES ($1, 'mer_' || $2::text, 'brn_' || $2::text, 'Till', 'http://127.0.0.1:9', '\\x00', $3, $4)`,
    [id, String(merchant), terminalId, deletedAt],
  );

const shift = (id: string, deviceId: string, terminalId: string, number: number): Promise<unknown> =>
  owner.query(
    'INSERT INTO shifts (id, device_id, terminal_id, number, opened_at) VALUES ($1, $2, $3, $4::int4, now())',
    [id, deviceId, terminalId, number],
  );

test('the live device’s merchant holds a terminal, else that of the last one; shifts get their merchant', async () => {
  const all = readMigrations();
  const before = all.filter(({ name }) => name < FIRST_OF_TERMINALS);
  const migrateDatabaseUrl = database.ownerUrl;
  await migrate({ migrateDatabaseUrl, databaseUrl: undefined, migrations: before });
  for (const n of [1, 2]) {
    await owner.query(`INSERT INTO merchants (id, code, name, tin) VALUES ('mer_${n}', 'm${n}', 'M', '300000000')`);
    await owner.query(`INSERT INTO branches (id, merchant_id, code, name) VALUES ('brn_${n}', 'mer_${n}', 'b', 'B')`);
  }
  // One that a false register had is live at its owner now; one was left behind; one was replaced in its device.
  await device('dev_false', 2, 'UZ000000000001', '2026-11-01T00:00:00Z');
  await device('dev_live', 1, 'UZ000000000001', null);
  await device('dev_left', 2, 'UZ000000000002', '2026-11-01T00:00:00Z');
  await device('dev_new', 1, null, null);
  await shift('sft_1', 'dev_live', 'UZ000000000001', 1);
  await shift('sft_2', 'dev_left', 'UZ000000000002', 1);
  await shift('sft_3', 'dev_new', 'UZ000000000003', 1);

  const { applied } = await migrate({ migrateDatabaseUrl, databaseUrl: undefined });
  expect(applied).toContain(FIRST_OF_TERMINALS);
  const holders = await owner.query('SELECT terminal_id, merchant_id, proof::text FROM terminals ORDER BY terminal_id');
  expect(holders.rows).toEqual([
    { terminal_id: 'UZ000000000001', merchant_id: 'mer_1', proof: 'first' },
    { terminal_id: 'UZ000000000002', merchant_id: 'mer_2', proof: 'first' },
    { terminal_id: 'UZ000000000003', merchant_id: 'mer_1', proof: 'first' },
  ]);
  const shifts = await owner.query('SELECT id, merchant_id FROM shifts ORDER BY id');
  expect(shifts.rows).toEqual([
    { id: 'sft_1', merchant_id: 'mer_1' },
    { id: 'sft_2', merchant_id: 'mer_2' },
    { id: 'sft_3', merchant_id: 'mer_1' },
  ]);
});
