// Promise: old months of events leave for files; what any reader still needs of them stays, so that no one who reads by a place, no webhook
// and no delivery that waits misses an event or gets one again; sales do not wait for it.
import pg from 'pg';
import {
  archiveInFolder,
  beginRestore,
  readPartitions,
  releasedPartitions,
  restoreRows,
  tableOfArchive,
} from '#ledger';
import { firstIdAt, newId } from '#runtime';
import { rowsIn } from '../../../../libs/ledger/src/testing/archive-places.js';
import { until } from '../../../../libs/runtime/src/testing/until.js';
import {
  archived,
  at,
  closeAged,
  keeper,
  keeperProgram,
  monthAt,
  openAged,
  partitions,
  released,
  rowsOf,
  run,
  suffix,
  tables,
  MONTHLY_TABLES,
} from './testing/aged-partitions.js';
import { killRounds } from './testing/kill-rounds.js';

const SLEEPING = `SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()`;
let made = 0;

beforeEach(async () => {
  await openAged();
  await at.owner.query(
    `INSERT INTO merchants (id, code, name, tin) VALUES ('mer_2', 'idle', 'Idle', '300000001'), ('mer_3', 'behind', 'Behind', '300000002')`,
  );
});
afterEach(closeAged);

/** Events of the middle of a month. @returns their positions, in order */
async function happen(
  count: number,
  { month, merchant = 'mer_1' }: { month: number; merchant?: string },
): Promise<string[]> {
  const moment = new Date(monthAt(month).getTime() + 10 * 86_400_000);
  const from = (made += count) - count;
  const { rows } = await at.programs.query<{ position: string }>(
    `INSERT INTO events (id, merchant_id, type, subject_id, data, created_at)
     SELECT $1 || lpad(n::text, 16, '0'), $2, 'receipt.registered', 'rcp_' || n, '{"receipt_id": "чек"}', $3
       FROM generate_series($4::int4, $5::int4) AS n RETURNING position::text`,
    [firstIdAt('evt', moment), merchant, moment, from + 1, from + count],
  );
  return rows.map(({ position }) => position);
}

async function planTo(merchant: string, position: string | undefined): Promise<void> {
  await at.owner.query(
    `INSERT INTO webhook_cursors (merchant_id, position) VALUES ($1, $2)
     ON CONFLICT (merchant_id) DO UPDATE SET position = excluded.position`,
    [merchant, position ?? '0'],
  );
}

/** A delivery of an event that is to be sent still. */
async function waits(position: string | undefined, endpoint = 'whk_live'): Promise<void> {
  await at.owner.query(
    `INSERT INTO webhook_deliveries (id, merchant_id, endpoint_id, event_position, event_id, type, subject_id, url)
     SELECT $1, merchant_id, $2, position, id, type, subject_id, 'https://a.example' FROM events WHERE position = $3`,
    [newId('dlv'), endpoint, position],
  );
}

async function positions(): Promise<string[]> {
  const { rows } = await at.owner.query<{ position: string }>(
    'SELECT position::text FROM events ORDER BY events.position',
  );
  return rows.map(({ position }) => position);
}

const inOrder = (given: (string | undefined)[]): (string | undefined)[] =>
  [...new Set(given)].sort((one, other) => Number(one) - Number(other));
const release = async (): Promise<unknown> =>
  (await at.programs.query('SELECT release_event_partitions(30) AS step')).rows[0]?.step;

test('of a month that leaves those stay at which a reader stands, that are not planned yet, or that a delivery waits to send', async () => {
  const old = await happen(50, { month: -3 });
  const newer = await happen(5, { month: 0 });
  const idle = await happen(10, { month: -4, merchant: 'mer_2' });
  const behind = await happen(20, { month: -3, merchant: 'mer_3' });
  await planTo('mer_1', newer.at(-1));
  await planTo('mer_2', idle.at(-1));
  await planTo('mer_3', behind[14]);
  await waits(old[7]);
  // Nothing is sent there any more.
  await waits(old[8], 'whk_gone');
  await keeper({ folder: at.folder }).run();
  // From the first that is needed on all of a feed: who stands at one that is there misses none behind it.
  expect(await positions()).toEqual(inOrder([...old.slice(7), ...newer, idle.at(-1), ...behind.slice(14)]));
  const [oldest = '', next] = await partitions('events');
  expect([oldest.startsWith('kept_'), next?.startsWith('kept_')]).toEqual([true, false]);
  expect(await released()).toEqual([]);
  expect(await tables('events%')).toBe((await partitions('events')).length);
});

test('what stayed leaves with the next month, once it is not needed', async () => {
  const first = await happen(10, { month: -5 });
  const second = await happen(5, { month: -3 });
  const later = await happen(3, { month: 0 });
  await planTo('mer_1', later.at(-1));
  expect(await release()).toBe('released');
  // At its last one a reader may stand that has only missed what is not old.
  expect(await positions()).toEqual([first.at(-1), ...second, ...later]);
  expect((await partitions('events'))[0]).toMatch(/^kept_/);
  while ((await release()) === 'released');
  expect(await positions()).toEqual([second.at(-1), ...later]);
  expect((await partitions('events')).filter((name) => name.startsWith('kept_'))).toHaveLength(1);
});

test.each(['pending', 'failed'])(
  'an event whose delivery is %s stays, whose endpoint is not deleted',
  async (state) => {
    const old = await happen(10, { month: -3 });
    const newer = await happen(1, { month: 0 });
    await planTo('mer_1', newer[0]);
    await waits(old[2], 'whk_gone');
    await waits(old[6]);
    await at.owner.query(`UPDATE webhook_deliveries SET state = $1::delivery_state`, [state]);
    while ((await release()) === 'released');
    expect(await positions()).toEqual([...old.slice(6), ...newer]);
  },
);

test('what is written with an old id, by a clock that is behind, stays, also when it is committed while its month leaves', async () => {
  const old = await happen(10, { month: -3 });
  const newer = await happen(1, { month: 0 });
  await planTo('mer_1', newer[0]);
  const [behind, committing, admin] = await Promise.all(
    [at.database.url, at.database.url, at.database.adminUrl].map(async (connectionString) => {
      const client = new pg.Client({ connectionString });
      await client.connect();
      return client;
    }),
  );
  const insert = (client: pg.Client | undefined, n: number): Promise<unknown> | undefined =>
    client?.query(
      `INSERT INTO events (id, merchant_id, type, subject_id, data) VALUES ($1, 'mer_2', 't', 'rcp_x', '{}')`,
      [`${firstIdAt('evt', new Date(monthAt(-3).getTime() + 86_400_000))}${String(n).padStart(16, '9')}`],
    );
  try {
    await insert(behind, 1);
    // What is older leaves first.
    while (!(await partitions('events'))[1]?.endsWith(suffix(-3))) expect(await release()).toBe('released');
    await committing?.query('BEGIN');
    await insert(committing, 2);
    const steps = (async (): Promise<void> => {
      while ((await release()) === 'released');
    })();
    // The month is copied by then, and waits for the table.
    await until(
      'the month waits for the table',
      async () => (await admin?.query(SLEEPING))?.rowCount,
      (sleeping) => (sleeping ?? 0) > 0,
    );
    await committing?.query('COMMIT');
    await steps;
    expect((await partitions('events')).includes(suffix(-3))).toBe(false);
    expect(await positions()).toHaveLength(old.slice(-1).length + newer.length + 2);
  } finally {
    await behind?.end();
    await committing?.end();
    await admin?.end();
  }
});

test('without an archive all events stay, whatever their age', async () => {
  await happen(20, { month: -3 });
  const [before, there] = [await rowsOf('events'), await partitions('events')];
  await keeper().run();
  expect(await rowsOf('events')).toEqual(before);
  expect(await partitions('events')).toEqual(expect.arrayContaining(there));
  // Nor does the database drop any by itself.
  await release();
  const [name] = await released();
  expect((await at.programs.query('SELECT drop_released_partition($1, false) AS gone', [name])).rows).toEqual([
    { gone: false },
  ]);
});

test('the file of a month holds all of it, and what is brought back stands before all others of its feed', async () => {
  const old = await happen(60, { month: -3 });
  const newer = await happen(2, { month: 0 });
  await planTo('mer_1', newer.at(-1));
  const before = await rowsOf('events');
  await keeper({ folder: at.folder, rowsAtOnce: 7, maxRows: 30 }).run();
  expect(await positions()).toEqual([old.at(-1), ...newer]);
  // Its last one, which goes from month to month, is in the files of each.
  expect([...new Set(await archived())].sort()).toEqual(before.slice(0, old.length).sort());
  const { rows } = await at.owner.query<{ name: string }>('SELECT name FROM archives ORDER BY name');
  expect(rows.length).toBeGreaterThan(1);
  expect(new Set(rows.map(({ name }) => tableOfArchive(name)))).toEqual(new Set(['events']));
  for (const { name } of rows) {
    expect(await beginRestore(run, name)).toBe(true);
    for await (const lines of rowsIn(archiveInFolder(at.folder), name, 11)) await restoreRows(run, name, lines);
  }
  const read = `SELECT position::text, transaction_id::text AS tx FROM events WHERE merchant_id = 'mer_1' ORDER BY transaction_id, events.position`;
  const feed = (await at.owner.query<{ position: string; tx: string }>(read)).rows;
  expect(feed.map(({ position }) => position)).toEqual([...old, ...newer]);
  expect(new Set(feed.slice(0, old.length - 1).map(({ tx }) => tx))).toEqual(new Set(['1']));
  const restored = await rowsOf('events');
  expect(restored.map((line) => ({ ...(JSON.parse(line) as object), transaction_id: '' }))).toEqual(
    before.map((line) => ({ ...(JSON.parse(line) as object), transaction_id: '' })),
  );
  // It stays for its thirty days.
  await keeper({ folder: at.folder }).run();
  expect(await rowsOf('events')).toEqual(restored);
});

test('ids and the feed are not in the same order: who stands at one of a later month misses none behind it', async () => {
  const [before] = await happen(1, { month: -3 });
  const [ahead] = await happen(1, { month: -1 });
  const behind = await happen(2, { month: -3 });
  // Long before their month was over: those that are written afterwards stay anyway.
  await at.owner.query('UPDATE events SET created_at = $1', [new Date(monthAt(-3).getTime() + 10 * 86_400_000)]);
  const newer = await happen(1, { month: 0 });
  await planTo('mer_1', newer[0]);
  while ((await release()) === 'released');
  expect([before, await positions()]).toEqual(['1', [ahead, ...behind, ...newer]]);
});

test('while a copy that was put back is numbered anew, no month leaves', async () => {
  await happen(5, { month: -3 });
  await at.owner.query(`INSERT INTO event_renumberings (below, last) VALUES ('5', 5)`);
  // Nor is anything copied in vain, and the table shut, in each round of the hours that it takes.
  await at.owner.query('BEGIN; LOCK TABLE events IN ACCESS SHARE MODE');
  expect(await release()).toBe('none');
  await at.owner.query('ROLLBACK');
  await at.owner.query('DELETE FROM event_renumberings');
  expect(await release()).toBe('released');
});

test('who chooses old events for new deliveries has them until it has ended; meanwhile no month leaves', async () => {
  const old = await happen(5, { month: -3 });
  const [, position] = old;
  const newer = await happen(1, { month: 0 });
  await planTo('mer_1', newer[0]);
  const gateway = new pg.Client({ connectionString: at.database.url });
  await gateway.connect();
  try {
    await gateway.query('BEGIN');
    expect((await gateway.query('SELECT may_choose_events() AS may')).rows).toEqual([{ may: true }]);
    await expect(release()).rejects.toThrow(/lock timeout/);
    await gateway.query(
      `INSERT INTO webhook_deliveries (id, merchant_id, endpoint_id, event_position, event_id, type, subject_id, url)
       SELECT $1, merchant_id, 'whk_live', position, id, type, subject_id, 'https://a.example' FROM events WHERE position = $2`,
      [newId('dlv'), position],
    );
    await gateway.query('COMMIT');
    while ((await release()) === 'released');
    expect(await positions()).toEqual([...old.slice(1), ...newer]);
    await at.owner.query('BEGIN; SELECT pg_advisory_xact_lock(16722, 4)');
    expect((await gateway.query('SELECT may_choose_events() AS may')).rows).toEqual([{ may: false }]);
    await at.owner.query('ROLLBACK');
  } finally {
    await gateway.end();
  }
});

test('a month of events that cannot leave is said to be behind, although those of deliveries leave', async () => {
  await happen(5, { month: -3 });
  await at.owner.query(`UPDATE partition_rounds SET ended_at = now() - interval '3 days'`);
  await at.owner.query('BEGIN; SELECT may_choose_events()');
  await expect(keeper({ folder: at.folder }).run()).rejects.toThrow(/lock timeout/);
  await at.owner.query('ROLLBACK');
  expect(Math.round((await readPartitions(run)).keptSeconds / 86_400)).toBe(3);
  await keeper({ folder: at.folder }).run();
  expect((await readPartitions(run)).keptSeconds).toBeLessThan(60);
});

test('the table is shut for a moment, however many of its events stay', async () => {
  // Nothing of them is planned: all stay.
  await happen(20_000, { month: -3, merchant: 'mer_3' });
  let [isOver, slowestMs, sales] = [false, 0, 0];
  const seller = (async (): Promise<void> => {
    const client = new pg.Client({ connectionString: at.database.url });
    await client.connect();
    while (!isOver) {
      const begunMs = performance.now();
      await client.query(
        `INSERT INTO events (id, merchant_id, type, subject_id, data) VALUES ($1, 'mer_2', 't', 'rcp_x', '{}')`,
        [newId('evt')],
      );
      slowestMs = Math.max(slowestMs, performance.now() - begunMs);
      sales += 1;
    }
    await client.end();
  })();
  let copiedMs = 0;
  try {
    for (let step: unknown = 'released'; step === 'released';) {
      const begunMs = performance.now();
      step = await release();
      copiedMs = Math.max(copiedMs, performance.now() - begunMs);
    }
  } finally {
    isOver = true;
    await seller;
  }
  // How many there are is the machine’s; none of them waited for what was copied.
  expect(sales).toBeGreaterThan(2);
  expect(slowestMs).toBeLessThan(copiedMs / 2);
  const { rows } = await at.owner.query<{ n: number }>(
    `SELECT count(*)::int4 AS n FROM events WHERE merchant_id = 'mer_3'`,
  );
  expect(rows).toEqual([{ n: 20_000 }]);
});

test('a keeper that dies at any moment loses no event, and archives whole months', async () => {
  let last: string | undefined;
  for (const month of [-6, -5, -4, -3]) last = (await happen(60, { month })).at(-1);
  const newer = await happen(1, { month: 0 });
  await planTo('mer_1', newer[0]);
  const before = await rowsOf('events');
  const killed = await killRounds(at.owner, keeperProgram(), async () => {
    const everywhere = [...(await rowsOf('events')), ...(await archived())];
    for (const { name } of await releasedPartitions(run)) everywhere.push(...(await rowsOf(`parts.${name}`)));
    expect(new Set(everywhere)).toEqual(new Set(before));
  });
  expect(killed).toBeGreaterThan(2);
  // The server ends the session of a killed keeper when it notices; until then its lock stands.
  const deadline = Date.now() + 60_000;
  while (((await released()).length > 0 || (await positions()).length > 2) && Date.now() < deadline)
    await keeper({ folder: at.folder }).run();
  expect(await positions()).toEqual([last, ...newer]);
  expect(new Set(await archived())).toEqual(new Set(before.slice(0, -1)));
});

test('months to come are made three ahead for each table, once', async () => {
  for (let round = 0; round < 2; round += 1) {
    await keeper().run();
    for (const table of MONTHLY_TABLES) expect((await partitions(table)).slice(-4)).toEqual([1, 2, 3, 4].map(suffix));
  }
});
