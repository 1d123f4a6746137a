// Promise: a migration of the busiest tables holds up no sale for long: no call fails that is repeated when it is asked to be, and none at all while an
// index is built. What the release before makes of this one's migrations is case 23 of the fault suite.
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { Chance } from '../../apps/device-relay/src/lanes/simulation/testing/chance.js';
import { migrate, readMigrations } from '../../scripts/lib/migrations.mjs';
import { Load } from '../faults/frame/load.js';
import { judge } from '../faults/frame/truth.js';
import { sql } from '../system/database.js';
import { startSystem, type TestSystem } from '../system/system.js';
import { until } from '../../libs/runtime/src/testing/until.js';

const SHORTLY = new Set(['503 service_unavailable', '503 database_unavailable']);
const ROWS = 100_000;

/** As the next release would bring it: columns with defaults on the busiest tables, a new table. */
const NEXT_RELEASE = {
  name: '29991231235959_next_release',
  checksum: randomUUID(),
  sql: `ALTER TABLE receipts ADD COLUMN next_release text;
        ALTER TABLE attempts ADD COLUMN next_release integer NOT NULL DEFAULT 0;
        ALTER TABLE devices ADD COLUMN next_release boolean NOT NULL DEFAULT false;
        CREATE TABLE next_release (id text PRIMARY KEY);`,
};

test('columns on the busiest tables and a new table while it sells', async () => {
  const system = await startSystem({ registers: 2, gateways: 2, relays: 2 });
  try {
    const load = new Load(system.client, { prefix: 'up', chance: new Chance(1) });
    await load.reaches(50);
    const { ownerUrl, url } = system.database as { ownerUrl?: string; url: string };
    const migrations = [...readMigrations(), NEXT_RELEASE];
    const { applied } = await migrate({ migrateDatabaseUrl: ownerUrl ?? '', databaseUrl: url, migrations });
    expect(applied).toEqual([NEXT_RELEASE.name]);
    await load.reaches(load.sold.length + 50);
    const sold = await load.end();
    // Asked to come again shortly, at worst: on a slow machine a change of three tables takes longer than a call waits.
    const others = sold.flatMap((one) => one.setbacks).filter((setback) => !SHORTLY.has(setback));
    expect(load.complaints).toEqual([]);
    expect(others).toEqual([]);
    const { lost, doubled, wrongOrder, parked, failures } = await judge(system, [load], {
      prefix: 'up',
      tills: system.merchant.tills,
    });
    expect({ lost, doubled, wrongOrder, parked, failures }).toEqual({
      ...{ lost: 0, doubled: 0, wrongOrder: 0, parked: 0, failures: [] },
    });
  } finally {
    await system.stop();
  }
});

test('an index on a large table is built while it sells: no call fails, and none waits for the build', async () => {
  const system = await startSystem({ registers: 2 });
  const { ownerUrl = '', url } = system.database as { ownerUrl?: string; url: string };
  const reader = new pg.Client({ connectionString: ownerUrl });
  try {
    await writeOldReceipts(system);
    const load = new Load(system.client, { prefix: 'ix', chance: new Chance(2) });
    await load.reaches(20);
    // A transaction that reads from an old snapshot holds the build up for as long as the test wants.
    await reader.connect();
    await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM receipts LIMIT 1');
    const migrations = [...readMigrations(), NEXT_INDEX];
    const migrating = migrate({ migrateDatabaseUrl: ownerUrl, databaseUrl: url, migrations });
    await until(
      'the build has read the table',
      () => phaseOf(system),
      (phase) => phase.startsWith('waiting for old'),
    );
    await load.reaches(load.sold.length + 60);
    await reader.end();
    expect(await migrating).toEqual({ applied: [NEXT_INDEX.name] });
    const sold = await load.end();
    expect(sold.flatMap(({ setbacks }) => setbacks)).toEqual([]);
    expect(load.complaints).toEqual([]);
    const [index] = await sql(
      system.database,
      "SELECT indisvalid FROM pg_index WHERE indexrelid = 'next_index'::regclass",
    );
    expect(index).toEqual({ indisvalid: true });
  } finally {
    await reader.end();
    await system.stop();
  }
});

const NEXT_INDEX = {
  name: '29991231235959_next_index',
  checksum: randomUUID(),
  sql: 'CREATE INDEX "next_index" ON "receipts"("created_at", "total_tiyin");',
};

async function phaseOf({ database }: TestSystem): Promise<string> {
  const [row] = await sql<{ phase: string }>(
    database,
    'SELECT phase FROM pg_stat_progress_create_index WHERE datname = current_database()',
  );
  return row?.phase ?? '';
}

async function writeOldReceipts({ database, merchant }: TestSystem): Promise<void> {
  await sql(
    database,
    `INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, device_id, document, total_tiyin,
                           vat_total_tiyin, created_at)
     SELECT 'rcp_0' || n, $1, 'cli_1', 'receipts', '', 'sale', 'cancelled', 'dev_0', '{}', n, 0, now() - interval '1 day'
       FROM generate_series(1, ${ROWS}) AS n`,
    [merchant.merchantId],
  );
}
