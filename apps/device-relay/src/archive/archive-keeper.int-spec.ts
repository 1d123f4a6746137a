// Promise: an old attempt leaves the database only when a durable archive holds it as it was; whenever the keeper is killed none is lost,
// and none stands twice in what is restored.
import { mkdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Prisma } from '#database';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import {
  archivesOfPartition,
  beginRestore,
  newestArchives,
  restoreRows,
  type ArchiveSettings,
  type RunStatement,
} from '#ledger';
import { createLogger } from '#runtime';
import {
  ARCHIVE_PLACES,
  archiveIn,
  openFolder,
  type ArchivePlace,
} from '../../../../libs/ledger/src/testing/archive-places.js';
import { ARCHIVE_OPTIONS, ArchiveKeeper } from './archive-keeper.js';
import { ArchiveLag } from './archive-lag.js';
import { killRounds } from './testing/kill-rounds.js';
import { insertOldSale, type OldSale } from './testing/old-sales.js';

const logger = createLogger('test', 'silent');
let database: TestDatabase;
let owner: pg.Client;
let programs: pg.Client;
let place: ArchivePlace;

const run: RunStatement = async <Row>({ text, values }: Prisma.Sql) =>
  (await programs.query(text, [...values])).rows as Row[];

beforeAll(async () => {
  database = await createTestDatabase();
  owner = new pg.Client({ connectionString: database.ownerUrl });
  programs = new pg.Client({ connectionString: database.url });
  await owner.connect();
  await programs.connect();
  await owner.query(`
    INSERT INTO merchants (id, code, name, tin) VALUES ('mer_1', 'shop', 'Shop', '300000000');
    INSERT INTO branches (id, merchant_id, code, name) VALUES ('brn_1', 'mer_1', 'main', 'Main')`);
});
afterAll(async () => {
  await owner?.end();
  await programs?.end();
  await database?.drop();
});
beforeEach(() =>
  owner.query('DELETE FROM archived_attempts; DELETE FROM archives; DELETE FROM attempts; DELETE FROM receipts'),
);

const sell = (sale: OldSale = {}): Promise<{ receiptId: string; attemptId: string }> => insertOldSale(owner, sale);

/** The newest attempt of each register stays; this one does. */
const newest = (): Promise<unknown> => sell({ daysAgo: 1 });

function keeperIn(settings: Partial<ArchiveSettings>, options: Partial<typeof ARCHIVE_OPTIONS> = {}): ArchiveKeeper {
  const all = { ...ARCHIVE_OPTIONS, pauseMs: 0, keepDays: 395, ...options };
  return new ArchiveKeeper(database.url, archiveIn(settings), all, logger);
}

function keeper(options: Partial<typeof ARCHIVE_OPTIONS> = {}): ArchiveKeeper {
  return keeperIn(place.settings, options);
}

async function runToEnd(one: ArchiveKeeper): Promise<void> {
  while (await one.run());
}

async function attempts(): Promise<{ id: string; row: string }[]> {
  return (
    await owner.query<{ id: string; row: string }>('SELECT id, attempt_line(a) AS row FROM attempts a ORDER BY id')
  ).rows;
}

async function archives(): Promise<{ name: string; state: string; rows: number; removed: number }[]> {
  const { rows } = await owner.query<{ name: string; state: string; rows: number; removed: number }>(
    `SELECT name, state::text, rows, removed FROM archives WHERE state <> 'abandoned' ORDER BY name`,
  );
  return rows;
}

async function linesOf(name: string): Promise<string[]> {
  const lines: string[] = [];
  for await (const group of archiveIn(place.settings).read(name, 7)) lines.push(...group);
  return lines;
}

async function restoreAll(): Promise<number> {
  let cameBack = 0;
  for (const { name } of await archives()) {
    expect(await beginRestore(run, name)).toBe(true);
    cameBack += await restoreRows(run, 'attempts', await linesOf(name));
  }
  return cameBack;
}

/** One archive that is written, and none of its rows has left. */
async function writtenArchive(): Promise<string> {
  await owner.query('ALTER TABLE archived_attempts ADD CONSTRAINT none CHECK (false)');
  await expect(keeper().run()).rejects.toThrow(/none/);
  await owner.query('ALTER TABLE archived_attempts DROP CONSTRAINT none');
  const [archive] = await archives();
  expect(archive).toMatchObject({ state: 'written', removed: 0 });
  return String(archive?.name);
}

describe.each(ARCHIVE_PLACES)('with %s', (_kind, open) => {
  beforeAll(async () => {
    place = await open();
  });
  afterAll(() => place?.close());
  beforeEach(() => place.empty());

  test('what is old and proven leaves, and comes back as it was; what may still move stays', async () => {
    const old = [
      await sell(),
      await sell({ status: 'rejected', state: 'rejected' }),
      await sell({ state: 'not_registered' }),
    ];
    const refunded = await sell();
    const refund = { refundOf: refunded.receiptId, status: 'unknown', state: 'unknown' };
    const staying = [
      refunded,
      await sell(refund),
      await sell({ status: 'unknown', state: 'unknown' }),
      await sell({ status: 'sending', state: 'open', register: 'dev_2' }),
      await sell({ ofd: 'pending' }),
      await sell({ daysAgo: 300 }),
      await sell({ register: 'dev_3' }),
      await sell({ daysAgo: 1 }),
    ].map(({ attemptId }) => attemptId);
    const before = await attempts();

    await runToEnd(keeper({ rowsAtOnce: 2 }));
    expect((await attempts()).map(({ id }) => id)).toEqual([...staying].sort());
    const [archive, ...more] = await archives();
    expect(more).toEqual([]);
    expect(archive).toMatchObject({ state: 'removed', rows: 3, removed: 3 });
    const name = String(archive?.name);
    expect((await linesOf(name)).sort()).toEqual(
      before
        .filter(({ id }) => old.some(({ attemptId }) => attemptId === id))
        .map(({ row }) => row)
        .sort(),
    );
    expect(await archiveIn(place.settings).check(name)).toBe('whole');

    expect(await restoreAll()).toBe(3);
    expect(await restoreAll()).toBe(0);
    expect(await attempts()).toEqual(before);
    // Brought back, they stay for thirty days; then the same archive takes them again.
    await runToEnd(keeper());
    expect(await attempts()).toEqual(before);
    await owner.query(`UPDATE archives SET restored_at = now() - interval '31 days'`);
    await runToEnd(keeper());
    expect((await attempts()).map(({ id }) => id)).toEqual([...staying].sort());
    expect((await archives()).map(({ state }) => state)).toEqual(['removed']);
  });

  test('a keeper that is killed at any moment loses no attempt and archives none twice', async () => {
    for (let sale = 0; sale < 60; sale += 1) await sell();
    await newest();
    const before = await attempts();
    const script = `
    import { archiveOf } from '#ledger';
    import { ArchiveKeeper, ARCHIVE_OPTIONS } from ${JSON.stringify(new URL('archive-keeper.ts', import.meta.url).href)};
    const options = { ...ARCHIVE_OPTIONS, keepDays: 395, rowsAtOnce: 3, maxRows: 12, pauseMs: 15 };
    const logger = { info: () => undefined, warn: () => undefined, error: () => undefined };
    const files = archiveOf(${JSON.stringify(place.settings)});
    // What a bucket needs is loaded before the time counts.
    await files.prepare();
    const keeper = new ArchiveKeeper(${JSON.stringify(database.url)}, files, options, logger);
    console.log('up');
    while (await keeper.run());`;
    let unfinished = 0;
    const killed = await killRounds(
      script,
      (round) => 20 + 35 * round,
      async () => {
        unfinished += (await archives()).filter(({ state }) => state === 'writing' || state === 'written').length;
        // What has left stands in an archive that is whole.
        const here = new Set((await attempts()).map(({ id }) => id));
        const { rows } = await owner.query<{ id: string; archive: string }>(
          'SELECT id, archive FROM archived_attempts',
        );
        expect(new Set([...here, ...rows.map(({ id }) => id)])).toEqual(new Set(before.map(({ id }) => id)));
        for (const archive of new Set(rows.map((row) => row.archive)))
          expect(await archiveIn(place.settings).check(archive)).toBe('whole');
      },
    );
    expect(killed).toBeGreaterThan(0);
    expect(unfinished).toBeGreaterThan(0);

    // The server ends the session of a killed keeper when it notices; until then its lock stands.
    const deadline = Date.now() + 60_000;
    const last = keeper();
    const isOver = async (): Promise<boolean> =>
      (await attempts()).length === 1 && (await archives()).every(({ state }) => state === 'removed');
    while (!(await isOver()) && Date.now() < deadline) {
      await runToEnd(last);
      await delay(50);
    }
    expect((await attempts()).length).toBe(1);
    const written = await archives();
    expect(new Set(written.map(({ state }) => state))).toEqual(new Set(['removed']));
    const lines = (await Promise.all(written.map(({ name }) => linesOf(name)))).flat();
    expect(lines.sort()).toEqual(
      before
        .slice(0, -1)
        .map(({ row }) => row)
        .sort(),
    );
    expect(await restoreAll()).toBe(60);
    expect(await attempts()).toEqual(before);
  }, 180_000);

  test.each<[string, string, (data: string, whole: Buffer) => Promise<void>]>([
    ['changed', 'changed', (data, whole) => place.put(data, Buffer.concat([whole.subarray(0, -1), Buffer.from([1])]))],
    ['cut', 'changed', (data, whole) => place.put(data, whole.subarray(0, 10))],
    ['lost', 'no_file', (data) => place.remove(data)],
  ])('no row leaves for an archive whose file was %s; its rows leave with another one', async (_, state, spoil) => {
    const { attemptId } = await sell();
    await newest();
    const name = await writtenArchive();
    const data = `${name}.ndjson.gz`;
    const whole = await place.get(data);
    await spoil(data, whole);
    expect(await archiveIn(place.settings).check(name)).toBe(state);
    await runToEnd(keeper());
    const [spoilt, other, ...more] = await archives();
    expect(spoilt).toMatchObject({ name, state: 'written' });
    expect(other).toMatchObject({ state: 'removed', rows: 1, removed: 1 });
    expect(more).toEqual([]);
    const { rows } = await owner.query<{ id: string; archive: string }>('SELECT id, archive FROM archived_attempts');
    expect(rows).toEqual([{ id: attemptId, archive: other?.name }]);
    expect(await new ArchiveLag(395).read(run)).toBeGreaterThan(0);

    await place.put(data, whole);
    await runToEnd(keeper());
    expect((await archives())[0]).toMatchObject({ name, state: 'removed', removed: 0 });
    expect(await new ArchiveLag(395).read(run)).toBe(0);
    expect((await place.list()).filter((file) => file.endsWith('.part'))).toEqual([]);
  });

  test('nothing leaves for a place that has none of the archives', async () => {
    await sell();
    await newest();
    await runToEnd(keeper());
    const { attemptId } = await sell();
    await newest();
    await expect(keeperIn(await place.another()).run()).rejects.toThrow(/none of the newest archives/);
    expect((await attempts()).map(({ id }) => id)).toContain(attemptId);
  });
});

describe('wherever archives are', () => {
  beforeAll(async () => {
    place = await openFolder();
  });
  afterAll(() => place?.close());
  beforeEach(() => place.empty());

  test('archives of partitions are neither behind, nor do they stand for those of receipts in the folder', async () => {
    const name = (table: string, end: string): string => `${table}-${end.padStart(26, '0')}`;
    await owner.query(
      `INSERT INTO archives (name, state, released, begun_at, last_id)
     SELECT n, 'written', CASE WHEN n LIKE 'webhook%' THEN 'webhook_deliveries_202601' END, now() - make_interval(days => at::int4), 'dlv_' || at
       FROM unnest($1::text[], $2::int4[]) AS a (n, at)`,
      [
        [
          name('attempts', '1'),
          name('attempts', '2'),
          name('webhook_deliveries', '1'),
          name('webhook_deliveries', '2'),
        ],
        [3, 4, 8, 9],
      ],
    );
    expect(await newestArchives(run, { of: 'attempts', limit: 2 })).toEqual([
      name('attempts', '1'),
      name('attempts', '2'),
    ]);
    expect(await newestArchives(run, { of: 'partitions', limit: 3 })).toEqual([
      name('webhook_deliveries', '1'),
      name('webhook_deliveries', '2'),
      name('attempts', '1'),
    ]);
    await owner.query(`UPDATE archives SET last_id = 'dlv_7' WHERE name = $1`, [name('webhook_deliveries', '2')]);
    expect((await archivesOfPartition(run, 'webhook_deliveries_202601')).map(({ last_id: id }) => id)).toEqual([
      'dlv_7',
      'dlv_8',
    ]);
    await owner.query(`UPDATE archives SET state = 'removed' WHERE released IS NULL`);
    expect(await new ArchiveLag(395).read(run)).toBe(0);
  });

  test('what was archived before the table got a column comes back with its default, and leaves again', async () => {
    const { attemptId } = await sell();
    await newest();
    await runToEnd(keeper());
    await owner.query(`ALTER TABLE attempts ADD COLUMN later text NOT NULL DEFAULT 'unset'`);
    try {
      expect(await restoreAll()).toBe(1);
      const { rows } = await owner.query(`SELECT later, state FROM attempts WHERE id = $1`, [attemptId]);
      expect(rows).toEqual([{ later: 'unset', state: 'registered' }]);
      await owner.query(`UPDATE archives SET restored_at = now() - interval '31 days'`);
      await runToEnd(keeper());
      expect((await attempts()).map(({ id }) => id)).not.toContain(attemptId);
      const newer = await owner.query<{ archive: string }>('SELECT archive FROM archived_attempts WHERE id = $1', [
        attemptId,
      ]);
      expect((await linesOf(String(newer.rows[0]?.archive)))[0]).toContain('"later": "unset"');
    } finally {
      await owner.query('ALTER TABLE attempts DROP COLUMN later');
    }
  });

  test('how far the archive is behind is seen beyond attempts that have to stay', async () => {
    for (let sale = 0; sale < 7; sale += 1) await sell({ state: 'unknown', status: 'unknown' });
    await newest();
    const lag = new ArchiveLag(395, 1);
    expect([await lag.read(run), await lag.read(run), await lag.read(run)]).toEqual([0, 0, 0]);
    const { attemptId } = await sell({ daysAgo: 396 });
    await newest();
    const readings: number[] = [];
    for (let reading = 0; reading < 4; reading += 1) readings.push(await lag.read(run));
    expect(Math.max(...readings)).toBeGreaterThan(0);
    await runToEnd(keeper());
    expect((await attempts()).map(({ id }) => id)).not.toContain(attemptId);
    readings.length = 0;
    for (let reading = 0; reading < 4; reading += 1) readings.push(await lag.read(run));
    expect(readings.at(-1)).toBe(0);
  });

  test('a row that changed after it was archived stays, and is archived as it is then', async () => {
    const { attemptId } = await sell();
    await newest();
    await writtenArchive();
    await owner.query(`UPDATE attempts SET outcome = '{"kind": "registered", "late": true}' WHERE id = $1`, [
      attemptId,
    ]);
    await runToEnd(keeper());
    expect(await archives()).toMatchObject([
      { state: 'removed', rows: 1, removed: 0 },
      { state: 'removed', rows: 1, removed: 1 },
    ]);
    const { rows } = await owner.query<{ archive: string }>('SELECT archive FROM archived_attempts');
    expect((await linesOf(String(rows[0]?.archive)))[0]).toContain('"late": true');
  });

  test('what is left of an archive that was never finished, and cannot be removed, keeps nothing in the database', async () => {
    await sell();
    await newest();
    const name = `attempts-${'0'.repeat(26)}`;
    await owner.query(`INSERT INTO archives (name, state) VALUES ($1, 'writing')`, [name]);
    const stuck = join(String(place.settings.ARCHIVE_DIR), `${name}.ndjson.gz`);
    await mkdir(stuck);
    await runToEnd(keeper());
    expect(await archives()).toMatchObject([{ state: 'removed', rows: 1, removed: 1 }]);
    const { rows } = await owner.query('SELECT state FROM archives WHERE name = $1', [name]);
    expect(rows).toEqual([{ state: 'abandoned' }]);
    await rmdir(stuck);
  });

  describe('the programs’ role', () => {
    const refusal = (text: string, values: unknown[] = []): Promise<string | undefined> =>
      programs.query(text, values).then(
        () => undefined,
        (error: unknown) => (error instanceof pg.DatabaseError ? error.code : 'no code'),
      );

    test('removes no attempt without a written archive, none that differs, none that is young or may move', async () => {
      const old = await sell();
      const young = await sell({ daysAgo: 60 });
      const unknown = await sell({ state: 'unknown', status: 'unknown' });
      await newest();
      const remove = 'SELECT remove_archived_attempts($1, $2, $3) AS removed';
      expect(await refusal(remove, ['attempts-none', [old.attemptId], ['00']])).toBe('55000');
      const name = `attempts-${'0'.repeat(26)}`;
      await programs.query(`INSERT INTO archives (name, state) VALUES ($1, 'written')`, [name]);
      const ids = [old, young, unknown].map(({ attemptId }) => attemptId);
      const { rows: digests } = await owner.query<{ digest: string }>(
        `SELECT encode(sha256(convert_to(attempt_line(a), 'UTF8')), 'hex') AS digest FROM attempts a WHERE id = ANY($1) ORDER BY array_position($1, id)`,
        [ids],
      );
      const right = digests.map(({ digest }) => digest);
      expect((await programs.query(remove, [name, ids, right.map(() => '00')])).rows).toEqual([{ removed: 0 }]);
      // In a session that shows times and bytes otherwise the digest is the same.
      await programs.query(`SET TimeZone = 'Asia/Tashkent'; SET bytea_output = 'escape'`);
      expect((await programs.query(remove, [name, ids, right])).rows).toEqual([{ removed: 1 }]);
      await programs.query('RESET TimeZone; RESET bytea_output');
      expect((await attempts()).map(({ id }) => id)).toEqual(
        expect.arrayContaining([young.attemptId, unknown.attemptId]),
      );
      for (const table of ['archived_attempts', 'archives', 'attempts'])
        expect(await refusal(`DELETE FROM ${table}`)).toBe('42501');
      expect(await refusal(`INSERT INTO archived_attempts VALUES ('a', 'b', 1, now(), $1)`, [name])).toBe('42501');
    });
  });
});
