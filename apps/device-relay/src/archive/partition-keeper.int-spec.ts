// Promise: old deliveries leave with their month, and with an archive only when its files hold them; what is not finished never leaves, whenever
// the keeper is killed.
import { rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { archiveInFolder, beginRestore, readPartitions, restoreRows } from '#ledger';
import {
  archived,
  at,
  both,
  closeAged,
  deliver,
  ids,
  keeper,
  keeperProgram,
  MONTHLY_TABLES,
  openAged,
  partitions,
  released,
  rowsOf,
  run,
  stoppedBeforeDrop,
  suffix,
  tables,
} from './testing/aged-partitions.js';
import { archiveIn, openBucket, rowsIn } from '../../../../libs/ledger/src/testing/archive-places.js';
import { killRounds } from './testing/kill-rounds.js';

beforeEach(openAged);
afterEach(closeAged);

test('a table that is held up by a reader for hours keeps no other from getting its months, nor from giving up old ones', async () => {
  await deliver(10, { month: -3 });
  const reader = new pg.Client({ connectionString: at.database.ownerUrl });
  await reader.connect();
  await reader.query(`UPDATE partition_rounds SET ended_at = now() - interval '3 days'`);
  await reader.query('BEGIN; SELECT FROM webhook_deliveries LIMIT 1');
  try {
    await expect(keeper({ folder: at.folder, tries: 2 }).run()).rejects.toThrow(/lock timeout/);
  } finally {
    await reader.end();
  }
  const newest = await Promise.all(MONTHLY_TABLES.map(async (table) => [table, (await partitions(table)).at(-1)]));
  expect(Object.fromEntries(newest)).toMatchObject({
    ...{ webhook_deliveries: suffix(1), webhook_attempts: suffix(4), events: suffix(4) },
    ...{ payment_calls: suffix(4), provider_callbacks: suffix(4), attempts: suffix(4) },
  });
  expect((await partitions('events'))[0]).toMatch(/^kept_/);
  // The alarm is that of the table that is behind.
  expect((await readPartitions(run)).keptSeconds).toBeGreaterThan(86_400);
  await keeper({ folder: at.folder }).run();
  expect((await readPartitions(run)).keptSeconds).toBeLessThan(60);
  expect((await partitions()).at(-1)).toBe(suffix(4));
});

describe('months that are over', () => {
  test('leave with what is finished; what is still to be sent, or was finished lately, stays', async () => {
    const staying = [
      ...(await deliver(2, { month: -6, state: 'pending' })),
      ...(await deliver(3, { month: -3, finishedDaysAgo: 5 })),
      ...(await deliver(4, { month: -3, state: 'pending' })),
      ...(await deliver(2, { month: 0 })),
    ];
    for (const month of [-6, -4, -3]) await deliver(100, { month });
    await deliver(10, { month: -3, state: 'failed' });
    await deliver(5, { month: -3, state: 'pending', endpoint: 'whk_gone' });
    await keeper().run();
    expect(await ids()).toEqual(staying.sort());
    expect(await rowsOf('webhook_attempts')).toHaveLength(2 * staying.length);
    for (const table of ['webhook_deliveries', 'webhook_attempts']) {
      const [oldest = '', next] = await partitions(table);
      expect([oldest.startsWith('kept_'), next?.startsWith('kept_')]).toEqual([true, false]);
    }
    expect(await released()).toEqual([]);
    expect(await tables()).toBe(2 * (await partitions()).length);
    // Sent at last, they leave thirty days later, with the next month that does.
    await at.owner.query(
      `UPDATE webhook_deliveries SET state = 'delivered', finished_at = now() WHERE state = 'pending'`,
    );
    await keeper().run();
    expect(await ids()).toEqual(staying.sort());
  });

  test('with an archive they are dropped when it holds them, and come back as they were', async () => {
    const staying = await deliver(3, { month: -3, state: 'pending' });
    await deliver(40, { month: -3 });
    await deliver(40, { month: -4, state: 'failed' });
    const before = await both();
    await keeper({ folder: at.folder, rowsAtOnce: 7, maxRows: 30 }).run();
    expect(await ids()).toEqual(staying);
    expect(await released()).toEqual([]);
    const here = new Set(await both());
    expect((await archived()).sort()).toEqual(before.filter((line) => !here.has(line)).sort());

    const { rows } = await at.owner.query<{ name: string; state: string }>(
      `SELECT name, state::text FROM archives ORDER BY name`,
    );
    expect(rows.length).toBeGreaterThan(6);
    expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(['removed']));
    for (const { name } of rows) {
      expect(await beginRestore(run, name)).toBe(true);
      for await (const lines of rowsIn(archiveInFolder(at.folder), name, 11)) await restoreRows(run, name, lines);
    }
    expect(await both()).toEqual(before);
    await keeper({ folder: at.folder }).run();
    expect(await both()).toEqual(before);
  });

  test('nothing is dropped for a file that was changed: the partition is archived anew', async () => {
    await deliver(40, { month: -3 });
    const before = await both();
    const names = await stoppedBeforeDrop();
    await truncate(join(at.folder, `${names[0] ?? ''}.ndjson.gz`), 20);
    await keeper({ folder: at.folder }).run();
    expect(await released()).toEqual([`webhook_attempts_${suffix(-3)}`]);
    await keeper({ folder: at.folder }).run();
    expect(await released()).toEqual([]);
    expect((await archived()).sort()).toEqual([...before].sort());
  });

  test('a bucket takes them as a folder does; while it is away nothing is dropped, and nothing archived anew', async () => {
    const bucket = await openBucket();
    try {
      await deliver(40, { month: -3 });
      const before = await both();
      const here = { archive: archiveIn(bucket.settings), maxRows: 30, rowsAtOnce: 7 };
      const away = archiveIn({ ...bucket.settings, ARCHIVE_ENDPOINT: 'http://127.0.0.1:1' });
      await stoppedBeforeDrop(here);
      const recorded = `SELECT name, state FROM archives ORDER BY name`;
      const { rows: written } = await at.owner.query<{ state: string }>(recorded);
      await expect(keeper({ ...here, archive: away }).run()).rejects.toThrow(/ECONNREFUSED/);
      expect((await at.owner.query(recorded)).rows).toEqual(written);
      expect(await released()).toEqual([`webhook_attempts_${suffix(-3)}`]);
      await keeper(here).run();
      expect(await released()).toEqual([]);
      expect((await archived(here.archive)).sort()).toEqual([...before].sort());
      const { rows: states } = await at.owner.query<{ state: string }>(recorded);
      expect(states.map(({ state }) => state)).toEqual(written.map(() => 'removed'));
    } finally {
      await bucket.close();
    }
  });

  test('the database drops none of which the files hold another number of rows', async () => {
    await deliver(40, { month: -3 });
    const [name = ''] = await stoppedBeforeDrop();
    await at.owner.query('UPDATE archives SET rows = rows - 1 WHERE name = $1', [name]);
    const { rows } = await at.owner.query<{ partition: string }>(
      'SELECT released AS partition FROM archives WHERE name = $1',
      [name],
    );
    const drop = 'SELECT drop_released_partition($1, true) AS gone';
    expect((await at.programs.query(drop, [rows[0]?.partition])).rows).toEqual([{ gone: false }]);
    await at.owner.query('UPDATE archives SET rows = rows + 1 WHERE name = $1', [name]);
    expect((await at.programs.query(drop, [rows[0]?.partition])).rows).toEqual([{ gone: true }]);
  });
});

test('a relay without ARCHIVE_DIR drops nothing where others archive', async () => {
  await deliver(40, { month: -3 });
  const states = async (): Promise<unknown> =>
    (await at.owner.query('SELECT name, state FROM archives ORDER BY name')).rows;
  await stoppedBeforeDrop();
  const [archives, waiting] = [await states(), await released()];
  expect(waiting.length).toBeGreaterThan(0);
  await keeper().run();
  expect(await released()).toEqual(waiting);
  expect(await states()).toEqual(archives);
  await keeper({ folder: at.folder }).run();
  expect(await released()).toEqual([]);
});

describe('a keeper that dies', () => {
  test.each<[string, (names: string[]) => Promise<unknown>]>([
    ['after the rows are archived, before the drop', () => Promise.resolve()],
    [
      'after the manifest, before its row says so',
      (names) =>
        at.owner.query(
          `UPDATE archives SET state = 'writing', rows = 0, first_id = NULL, last_id = NULL, sha256 = NULL WHERE name = $1`,
          [names.at(-1)],
        ),
    ],
    [
      'before the manifest',
      async (names) => {
        await at.owner.query(`UPDATE archives SET state = 'writing' WHERE name = $1`, [names.at(-1)]);
        await rm(join(at.folder, `${names.at(-1) ?? ''}.json`));
      },
    ],
  ])('%s: the next one goes on, and each row is in one archive', async (_when, undo) => {
    await deliver(40, { month: -3 });
    const staying = await deliver(2, { month: -3, state: 'pending' });
    const before = await both();
    const names = await stoppedBeforeDrop();
    expect(names.length).toBeGreaterThan(0);
    expect(await ids()).toEqual(staying);
    await undo(names);
    await keeper({ folder: at.folder, maxRows: 30 }).run();
    expect(await released()).toEqual([]);
    const here = new Set(await both());
    expect((await archived()).sort()).toEqual(before.filter((line) => !here.has(line)).sort());
  });

  test('at any moment loses no row and archives none twice', async () => {
    for (const month of [-6, -5, -4, -3]) await deliver(60, { month });
    const staying = [
      ...(await deliver(3, { month: -4, state: 'pending' })),
      ...(await deliver(3, { month: -3, state: 'pending' })),
    ];
    const before = await both();
    const killed = await killRounds(at.owner, keeperProgram(), async () => {
      const everywhere = [...(await both()), ...(await archived())];
      for (const name of await released()) everywhere.push(...(await rowsOf(`parts.${name}`)));
      expect(new Set(everywhere)).toEqual(new Set(before));
      expect(await ids()).toEqual(expect.arrayContaining(staying));
    });
    expect(killed).toBeGreaterThan(2);
    // The server ends the session of a killed keeper when it notices; until then its lock stands.
    const deadline = Date.now() + 60_000;
    while (((await released()).length > 0 || (await partitions()).includes(suffix(-3))) && Date.now() < deadline) {
      await keeper({ folder: at.folder }).run();
      await delay(50);
    }
    expect(await ids()).toEqual(staying.sort());
    const here = new Set(await both());
    expect((await archived()).sort()).toEqual(before.filter((line) => !here.has(line)).sort());
  });
});
