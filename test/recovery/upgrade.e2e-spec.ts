// Promise: the database is migrated while the programs of the release before go on selling; no call fails that is repeated when it is asked to be.
import { randomUUID } from 'node:crypto';
import { Chance } from '../../apps/device-relay/src/lanes/simulation/testing/chance.js';
import { migrate, readMigrations } from '../../scripts/lib/migrations.mjs';
import { Load } from '../faults/frame/load.js';
import { judge } from '../faults/frame/truth.js';
import { startSystem } from '../system/system.js';
const SHORTLY = new Set(['503 service_unavailable', '503 database_unavailable', '409 idempotency_in_progress']);

/** As the next release would bring it: columns with defaults on the busiest tables, a new table. */
const NEXT_RELEASE = {
  name: '29991231235959_next_release',
  checksum: randomUUID(),
  sql: `ALTER TABLE receipts ADD COLUMN next_release text;
        ALTER TABLE attempts ADD COLUMN next_release integer NOT NULL DEFAULT 0;
        ALTER TABLE devices ADD COLUMN next_release boolean NOT NULL DEFAULT false;
        CREATE TABLE next_release (id text PRIMARY KEY);`,
};

test('migrating under load, then a migration of the older release', async () => {
  const system = await startSystem({ registers: 2 });
  try {
    const load = new Load(system.client, { prefix: 'up', chance: new Chance(1) });
    await load.reaches(50);
    const { ownerUrl, url } = system.database as { ownerUrl?: string; url: string };
    const options = { migrateDatabaseUrl: ownerUrl ?? '', databaseUrl: url };
    const { applied } = await migrate({ ...options, migrations: [...readMigrations(), NEXT_RELEASE] });
    expect(applied).toEqual([NEXT_RELEASE.name]);
    await load.reaches(150);
    const sold = await load.end();
    // Asked to come again shortly, at worst: on a slow machine a change of three tables takes longer than a call waits.
    const others = sold.flatMap(({ setbacks }) => setbacks).filter((setback) => !SHORTLY.has(setback));
    expect(others).toEqual([]);
    const { lost, doubled, wrongOrder, parked, failures } = await judge(system, [load], {
      prefix: 'up',
      tills: system.merchant.tills,
    });
    expect({ lost, doubled, wrongOrder, parked, failures }).toEqual({
      ...{ lost: 0, doubled: 0, wrongOrder: 0, parked: 0, failures: [] },
    });
    // The release before does not touch what it does not know.
    await expect(migrate(options)).rejects.toThrow('it is newer');
  } finally {
    await system.stop();
  }
});
