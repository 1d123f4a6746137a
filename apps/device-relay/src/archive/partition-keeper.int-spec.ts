// Promise: old deliveries leave with their month, and with an archive only when its files hold them; what is not finished never leaves, whenever
// the keeper is killed; no row is refused for lack of a partition, and no statement waits for long behind the keeper.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Prisma } from '#database';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import {
  ArchiveFiles,
  beginRestore,
  PARTITIONED_TABLES,
  readPartitions,
  restoreRows,
  tableOfArchive,
  type RunStatement,
} from '#ledger';
import { createLogger, firstIdAt } from '#runtime';
import { PARTITION_OPTIONS, PartitionKeeper } from './partition-keeper.js';

const logger = createLogger('test', 'silent');
let database: TestDatabase;
let owner: pg.Client;
let programs: pg.Client;
let folder: string;
let made = 0;

const run: RunStatement = async <Row>({ text, values }: Prisma.Sql) =>
  (await programs.query(text, [...values])).rows as Row[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'archive-'));
  database = await createTestDatabase();
  [owner, programs] = [database.ownerUrl, database.url].map(
    (connectionString) => new pg.Client({ connectionString }),
  ) as [pg.Client, pg.Client];
  await owner.connect();
  await programs.connect();
  await owner.query(`
    INSERT INTO merchants (id, code, name, tin) VALUES ('mer_1', 'shop', 'Shop', '300000000');
    INSERT INTO webhook_endpoints (id, merchant_id, url, events, deleted_at) VALUES
      ('whk_live', 'mer_1', 'https://a.example', '{*}', NULL), ('whk_gone', 'mer_1', 'https://b.example', '{*}', now() - interval '60 days')`);
  await age();
});
afterEach(async () => {
  await owner?.end();
  await programs?.end();
  await database?.drop();
  await rm(folder, { recursive: true });
});

/** The first of the month that is so many months from this one. */
function monthAt(months: number): Date {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 1));
}

const bound = (months: number): string => firstIdAt('dlv', monthAt(months));
const suffix = (months: number): string => monthAt(months).toISOString().slice(0, 7).replace('-', '');

/** As if it had been converted five months ago, and no keeper had come since: the last partition begins with the next month. */
async function age(): Promise<void> {
  for (const table of PARTITIONED_TABLES) {
    const { rows } = await owner.query<{ name: string }>('SELECT name FROM partitions_of($1)', [table]);
    for (const { name } of rows) await owner.query(`DROP TABLE parts.${name}`);
    const create = (name: string, bounds: string): Promise<unknown> =>
      owner.query('SELECT create_partition($1, $2, $3)', [table, `${table}_${name}`, bounds]);
    await create('first', `FROM (MINVALUE) TO ('${bound(-4)}')`);
    for (let month = -4; month < 1; month += 1)
      await create(suffix(month), `FROM ('${bound(month)}') TO ('${bound(month + 1)}')`);
    await create(suffix(1), `FROM ('${bound(1)}') TO (MAXVALUE)`);
  }
}

interface Made {
  /** Of which month, from this one; in its middle. */
  month: number;
  state?: 'pending' | 'delivered' | 'failed';
  finishedDaysAgo?: number;
  endpoint?: string;
}

/** Deliveries with two attempts each. @returns their ids */
async function deliver(count: number, given: Made): Promise<string[]> {
  const { month, state = 'delivered', finishedDaysAgo, endpoint = 'whk_live' } = given;
  const at = new Date(monthAt(month).getTime() + 10 * 86_400_000);
  const from = (made += count) - count;
  const finished =
    state === 'pending'
      ? null
      : finishedDaysAgo === undefined
        ? at
        : new Date(Date.now() - finishedDaysAgo * 86_400_000);
  const { rows } = await programs.query<{ id: string }>(
    `INSERT INTO webhook_deliveries (id, merchant_id, endpoint_id, event_position, event_id, type, subject_id, url, state, created_at, finished_at)
     SELECT $1 || lpad(n::text, 16, '0'), 'mer_1', $2, n, 'evt_' || n, 'receipt.registered', 'rcp_' || n, 'https://a.example',
            $3::delivery_state, $4, $5 FROM generate_series($6::int4, $7::int4) AS n RETURNING id`,
    [firstIdAt('dlv', at), endpoint, state, at, finished, from + 1, from + count],
  );
  const ids = rows.map(({ id }) => id);
  await programs.query(
    `INSERT INTO webhook_attempts (delivery_id, number, at, duration_ms, outcome, answer)
     SELECT id, number, $2, 1, 'refused', 'чек' FROM unnest($1::text[]) AS id, generate_series(1, 2) AS number`,
    [ids, at],
  );
  return ids;
}

function keeper(options: Partial<typeof PARTITION_OPTIONS> & { folder?: string } = {}): PartitionKeeper {
  return new PartitionKeeper(
    database.url,
    { ...PARTITION_OPTIONS, ...{ pauseMs: 0, retryMs: 5, keepDays: 30, folder: null }, ...options },
    logger,
  );
}

/** As an archive would hold it, by delivery and number. */
async function rowsOf(table: string): Promise<string[]> {
  const key = table.includes('webhook_attempts') ? 'delivery_id, number' : 'id';
  const { rows } = await owner.query<{ line: string }>(
    `SELECT to_jsonb(t)::text AS line FROM ${table} t ORDER BY ${key}`,
  );
  return rows.map(({ line }) => line);
}

const both = async (): Promise<string[]> => [
  ...(await rowsOf('webhook_deliveries')),
  ...(await rowsOf('webhook_attempts')),
];

async function ids(): Promise<string[]> {
  return (await owner.query<{ id: string }>('SELECT id FROM webhook_deliveries ORDER BY id')).rows.map(({ id }) => id);
}

async function partitions(table = 'webhook_deliveries'): Promise<string[]> {
  const { rows } = await owner.query<{ name: string }>(
    'SELECT name FROM partitions_of($1) ORDER BY lower_id NULLS FIRST',
    [table],
  );
  return rows.map(({ name }) => name.replace(`${table}_`, ''));
}

/** Taken off, and not dropped. */
async function released(): Promise<string[]> {
  const { rows } = await owner.query<{ name: string }>(
    'SELECT name FROM released_partitions WHERE dropped_at IS NULL ORDER BY name',
  );
  return rows.map(({ name }) => name);
}

async function tables(): Promise<number> {
  const { rows } = await owner.query<{ n: number }>(
    `SELECT count(*)::int4 AS n FROM pg_class WHERE relnamespace = to_regnamespace('parts') AND relkind = 'r'`,
  );
  return rows[0]?.n ?? 0;
}

/** Lines of all archives that count. */
async function archived(): Promise<string[]> {
  const { rows } = await owner.query<{ name: string }>(
    `SELECT name FROM archives WHERE state IN ('written', 'removed', 'restored') ORDER BY name`,
  );
  const files = new ArchiveFiles(folder);
  const lines: string[] = [];
  for (const { name } of rows) {
    expect([name, await files.check(name)]).toEqual([name, 'whole']);
    for await (const group of files.read(name, 7)) lines.push(...group);
  }
  return lines;
}

describe('months to come', () => {
  test('are made three ahead, once; what is due in the last partition goes on being written', async () => {
    await keeper().run();
    const wanted = [1, 2, 3, 4].map(suffix);
    for (const table of PARTITIONED_TABLES) expect((await partitions(table)).slice(-4)).toEqual(wanted);
    await keeper().run();
    expect((await partitions()).slice(-4)).toEqual(wanted);
    for (const month of [0, 1, 3, 7, 40]) await deliver(1, { month, state: 'pending' });
    const { daysAhead, keptSeconds } = await readPartitions(run);
    expect(daysAhead).toBeGreaterThan(89);
    expect(keptSeconds).toBeLessThan(60);
  });

  test('a last partition that has few rows gets its end, and its rows stay as they are', async () => {
    await deliver(50, { month: 1, state: 'pending' });
    const before = await both();
    await keeper().run();
    expect((await partitions()).slice(-4)).toEqual([1, 2, 3, 4].map(suffix));
    expect(await both()).toEqual(before);
  });

  test('ids of a clock ten years ahead hold nothing up: months are made, nothing is refused, and each row is there once', async () => {
    const all: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      all.push(...(await deliver(3, { month: 120, state: 'pending' })));
      await keeper().run();
      for (const table of PARTITIONED_TABLES)
        expect((await partitions(table)).slice(-4)).toEqual([1, 2, 3, 4].map(suffix));
      for (const table of [
        'webhook_deliveries SET attempt_count = attempt_count + 1',
        'webhook_attempts SET answer = answer',
      ])
        expect((await programs.query(`UPDATE ${table}`)).rowCount).toBe(
          all.length * (table.includes('answer') ? 2 : 1),
        );
    }
    expect(await ids()).toEqual(all.sort());
    expect(await rowsOf('webhook_attempts')).toHaveLength(2 * all.length);
  });

  test('a last partition that has many rows stays as it is, and a person gives it its end', async () => {
    await deliver(5_001, { month: 1, state: 'pending' });
    await owner.query(
      `DELETE FROM webhook_attempts WHERE number = 2 OR delivery_id = (SELECT min(id) FROM webhook_deliveries)`,
    );
    await keeper().run();
    expect((await partitions()).at(-1)).toBe(suffix(1));
    expect((await partitions('webhook_attempts')).at(-1)).toBe(suffix(4));
    expect((await readPartitions(run)).daysAhead).toBeLessThan(32);
    await deliver(1, { month: 120, state: 'pending' });
    const before = await both();
    await owner.query(`SELECT make_next_partition('webhook_deliveries', 10000)`);
    await keeper().run();
    expect((await partitions()).slice(-4)).toEqual([1, 2, 3, 4].map(suffix));
    expect(await both()).toEqual(before);
  });

  test('a new partition has the settings and statistics of its table', async () => {
    await keeper().run();
    for (const table of PARTITIONED_TABLES) {
      const { rows } = await owner.query<{ options: string[]; statistics: number }>(
        `SELECT DISTINCT reloptions AS options, (SELECT count(*)::int4 FROM pg_statistic_ext e WHERE e.stxrelid = c.oid) AS statistics
           FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = $1::regclass`,
        [table],
      );
      expect(rows).toMatchObject([{ statistics: table === 'webhook_deliveries' ? 1 : 0 }]);
      expect(rows[0]?.options).toContain('autovacuum_freeze_min_age=0');
    }
  });
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
    for (const table of PARTITIONED_TABLES) {
      const [oldest = '', next] = await partitions(table);
      expect([oldest.startsWith('kept_'), next?.startsWith('kept_')]).toEqual([true, false]);
    }
    expect(await released()).toEqual([]);
    expect(await tables()).toBe(2 * (await partitions()).length);
    // Sent at last, they leave thirty days later, with the next month that does.
    await owner.query(`UPDATE webhook_deliveries SET state = 'delivered', finished_at = now() WHERE state = 'pending'`);
    await keeper().run();
    expect(await ids()).toEqual(staying.sort());
  });

  test('a partition stays as it is while more than five thousand of its deliveries are not finished', async () => {
    await deliver(5_001, { month: -3, state: 'pending' });
    await deliver(100, { month: -3 });
    const before = await both();
    await keeper().run();
    expect(await both()).toEqual(before);
    expect(await partitions()).toContain(suffix(-3));
    expect(await readPartitions(run)).toMatchObject({ isHeld: true });
    await owner.query(`UPDATE webhook_deliveries SET state = 'failed', finished_at = created_at
                        WHERE id = (SELECT min(id) FROM webhook_deliveries WHERE state = 'pending')`);
    await keeper().run();
    expect(await ids()).toHaveLength(5_000);
    expect(await readPartitions(run)).toMatchObject({ isHeld: false });
  });

  test('a month of which too much is not finished stays alone: the later ones leave', async () => {
    const held = await deliver(5_001, { month: -4, state: 'pending' });
    const staying = await deliver(3, { month: -3, state: 'pending' });
    await deliver(20, { month: -3 });
    await keeper().run();
    expect(await ids()).toEqual([...held, ...staying].sort());
    expect(await partitions()).toEqual(expect.arrayContaining([suffix(-4), `kept_${suffix(-2)}`]));
    expect(await readPartitions(run)).toMatchObject({ isHeld: true });
    await owner.query(`UPDATE webhook_deliveries SET state = 'failed', finished_at = created_at WHERE id = $1`, [
      held[0],
    ]);
    await keeper().run();
    expect(await ids()).toEqual([...held.slice(1), ...staying].sort());
    expect(await partitions()).toEqual(await partitions('webhook_attempts'));
    expect(await readPartitions(run)).toMatchObject({ isHeld: false });
  });

  test('what is kept of earlier months does not count against a month', async () => {
    const staying = [
      ...(await deliver(3_000, { month: -4, state: 'pending' })),
      ...(await deliver(3_000, { month: -3, state: 'pending' })),
    ];
    await deliver(10, { month: -3 });
    await keeper().run();
    expect(await ids()).toEqual(staying.sort());
    expect((await partitions()).filter((name) => name.startsWith('kept_')).length).toBeGreaterThan(1);
    expect(await readPartitions(run)).toMatchObject({ isHeld: false });
    for (const month of [-5, -4, -3]) await deliver(1, { month });
  });

  test('temporary tables of the programs’ role with the names of others change nothing', async () => {
    const staying = await deliver(3, { month: -3, state: 'pending' });
    await deliver(10, { month: -3 });
    for (const [name, like] of [
      ...['webhook_deliveries', 'webhook_endpoints', 'released_partitions', 'archives'].map((each) => [
        each,
        `public.${each}`,
      ]),
      ...['pg_class', 'pg_inherits'].map((each) => [each, `pg_catalog.${each}`]),
    ])
      await programs.query(`CREATE TEMP VIEW ${name} AS SELECT * FROM ${like} WHERE false`);
    let step = 'released';
    while (step === 'released')
      step =
        (await programs.query<{ step: string }>('SELECT release_webhook_partitions(30) AS step')).rows[0]?.step ?? '';
    expect(step).toBe('none');
    expect((await programs.query(`SELECT make_next_partition('webhook_deliveries') AS step`)).rows).toEqual([
      { step: 'made' },
    ]);
    expect(await ids()).toEqual(staying);
  });

  test('with an archive they are dropped when it holds them, and come back as they were', async () => {
    const staying = await deliver(3, { month: -3, state: 'pending' });
    await deliver(40, { month: -3 });
    await deliver(40, { month: -4, state: 'failed' });
    const before = await both();
    await keeper({ folder, rowsAtOnce: 7, maxRows: 30 }).run();
    expect(await ids()).toEqual(staying);
    expect(await released()).toEqual([]);
    const here = new Set(await both());
    expect((await archived()).sort()).toEqual(before.filter((line) => !here.has(line)).sort());

    const { rows } = await owner.query<{ name: string; state: string }>(
      `SELECT name, state::text FROM archives ORDER BY name`,
    );
    expect(rows.length).toBeGreaterThan(6);
    expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(['removed']));
    for (const { name } of rows) {
      expect(await beginRestore(run, name)).toBe(true);
      for await (const lines of new ArchiveFiles(folder).read(name, 11))
        await restoreRows(run, tableOfArchive(name), lines);
    }
    expect(await both()).toEqual(before);
    await keeper({ folder }).run();
    expect(await both()).toEqual(before);
  });

  test('nothing is dropped for a file that was changed: the partition is archived anew', async () => {
    await deliver(40, { month: -3 });
    const before = await both();
    const names = await stoppedBeforeDrop();
    await truncate(join(folder, `${names[0] ?? ''}.ndjson.gz`), 20);
    await keeper({ folder }).run();
    expect(await released()).toEqual([`webhook_attempts_${suffix(-3)}`]);
    await keeper({ folder }).run();
    expect(await released()).toEqual([]);
    expect((await archived()).sort()).toEqual([...before].sort());
  });

  test('the database drops none of which the files hold another number of rows', async () => {
    await deliver(40, { month: -3 });
    const [name = ''] = await stoppedBeforeDrop();
    await owner.query('UPDATE archives SET rows = rows - 1 WHERE name = $1', [name]);
    const { rows } = await owner.query<{ partition: string }>(
      'SELECT released AS partition FROM archives WHERE name = $1',
      [name],
    );
    const drop = 'SELECT drop_released_partition($1, true) AS gone';
    expect((await programs.query(drop, [rows[0]?.partition])).rows).toEqual([{ gone: false }]);
    await owner.query('UPDATE archives SET rows = rows + 1 WHERE name = $1', [name]);
    expect((await programs.query(drop, [rows[0]?.partition])).rows).toEqual([{ gone: true }]);
  });
});

/** The attempts of the month are archived, and could not be dropped. @returns their archives */
async function stoppedBeforeDrop(): Promise<string[]> {
  const admin = new pg.Client({ connectionString: database.adminUrl });
  await admin.connect();
  await admin.query(`
    CREATE FUNCTION keep_month() RETURNS event_trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF EXISTS (SELECT FROM pg_event_trigger_dropped_objects() WHERE object_name = 'webhook_attempts_${suffix(-3)}') THEN
        RAISE EXCEPTION 'the keeper dies here';
      END IF;
    END $$;
    CREATE EVENT TRIGGER keep_month ON sql_drop EXECUTE FUNCTION keep_month()`);
  try {
    await expect(keeper({ folder }).run()).rejects.toThrow('the keeper dies here');
  } finally {
    await admin.query('DROP EVENT TRIGGER keep_month; DROP FUNCTION keep_month()');
    await admin.end();
  }
  const { rows } = await owner.query<{ name: string }>(
    `SELECT name FROM archives WHERE state = 'written' ORDER BY name`,
  );
  return rows.map(({ name }) => name);
}

test('a relay without ARCHIVE_DIR drops nothing where others archive', async () => {
  await deliver(40, { month: -3 });
  const states = async (): Promise<unknown> =>
    (await owner.query('SELECT name, state FROM archives ORDER BY name')).rows;
  await stoppedBeforeDrop();
  const [archives, waiting] = [await states(), await released()];
  expect(waiting.length).toBeGreaterThan(2);
  await keeper().run();
  expect(await released()).toEqual(waiting);
  expect(await states()).toEqual(archives);
  await keeper({ folder }).run();
  expect(await released()).toEqual([]);
});

describe('a keeper that dies', () => {
  test.each<[string, (names: string[]) => Promise<unknown>]>([
    ['after the rows are archived, before the drop', () => Promise.resolve()],
    [
      'after the manifest, before its row says so',
      (names) =>
        owner.query(
          `UPDATE archives SET state = 'writing', rows = 0, first_id = NULL, last_id = NULL, sha256 = NULL WHERE name = $1`,
          [names.at(-1)],
        ),
    ],
    [
      'before the manifest',
      async (names) => {
        await owner.query(`UPDATE archives SET state = 'writing' WHERE name = $1`, [names.at(-1)]);
        await rm(join(folder, `${names.at(-1) ?? ''}.json`));
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
    await keeper({ folder, maxRows: 30 }).run();
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
    const script = `
      import { PartitionKeeper, PARTITION_OPTIONS } from ${JSON.stringify(new URL('partition-keeper.ts', import.meta.url).href)};
      const options = { ...PARTITION_OPTIONS, keepDays: 30, folder: ${JSON.stringify(folder)}, rowsAtOnce: 5, maxRows: 20, pauseMs: 8 };
      const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };
      const keeper = new PartitionKeeper(${JSON.stringify(database.url)}, options, quiet);
      console.log('up');
      await keeper.run();`;
    let killed = 0;
    for (let round = 0; round < 6; round += 1) {
      const child = spawn(process.execPath, [...process.execArgv, '--input-type=module', '-e', script], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const ended = once(child, 'exit');
      await Promise.race([once(child.stdout, 'data'), ended]);
      await Promise.race([delay(15 + 60 * round), ended]);
      if (child.exitCode === null) killed += 1;
      child.kill('SIGKILL');
      await ended;
      const everywhere = [...(await both()), ...(await archived())];
      for (const name of await released()) everywhere.push(...(await rowsOf(`parts.${name}`)));
      expect(new Set(everywhere)).toEqual(new Set(before));
      expect(await ids()).toEqual(expect.arrayContaining(staying));
    }
    expect(killed).toBeGreaterThan(2);
    // The server ends the session of a killed keeper when it notices; until then its lock stands.
    const deadline = Date.now() + 60_000;
    while (((await released()).length > 0 || (await partitions()).includes(suffix(-3))) && Date.now() < deadline) {
      await keeper({ folder }).run();
      await delay(50);
    }
    expect(await ids()).toEqual(staying.sort());
    const here = new Set(await both());
    expect((await archived()).sort()).toEqual(before.filter((line) => !here.has(line)).sort());
  }, 180_000);
});

test('behind the keeper no statement waits for longer than its locks are waited for, and a later round does what it could not', async () => {
  await deliver(40, { month: -3 });
  const reader = new pg.Client({ connectionString: database.url });
  await reader.connect();
  await reader.query('BEGIN; SELECT FROM webhook_attempts LIMIT 1');
  let [isOver, slowestMs, statements] = [false, 0, 0];
  const gateway = (async (): Promise<void> => {
    while (!isOver) {
      const begunMs = performance.now();
      await programs.query(`SELECT FROM webhook_attempts LIMIT 1; SELECT FROM webhook_deliveries LIMIT 1`);
      await programs.query(`UPDATE webhook_endpoints SET wakes = wakes + 1 WHERE id = 'whk_live'`);
      slowestMs = Math.max(slowestMs, performance.now() - begunMs);
      statements += 1;
    }
  })();
  try {
    await expect(keeper({ tries: 20, retryMs: 20 }).run()).rejects.toThrow(/lock timeout/);
  } finally {
    isOver = true;
    await gateway;
    await reader.query('ROLLBACK');
    await reader.end();
  }
  expect(statements).toBeGreaterThan(20);
  // Three locks of 50 ms each, and what a busy machine adds.
  expect(slowestMs).toBeLessThan(400);
  await keeper().run();
  expect(await ids()).toEqual([]);
});

test('no lock is made stronger while it is held: what refers to another table locks that first, as it needs it at last', async () => {
  await deliver(40, { month: -3 });
  const reader = new pg.Client({ connectionString: database.url });
  await reader.connect();
  await reader.query('BEGIN; LOCK TABLE webhook_endpoints IN ACCESS SHARE MODE');
  const waitsAt = (text: string): Promise<unknown> =>
    programs.query(text).then(
      ({ rows }) => rows,
      (error: unknown) => (error instanceof pg.DatabaseError ? error.where : error),
    );
  try {
    const lock = expect.stringContaining('LOCK TABLE public.webhook_endpoints') as unknown;
    expect(await waitsAt(`SELECT make_next_partition('webhook_deliveries')`)).toEqual(lock);
    expect(await waitsAt(`SELECT make_next_partition('webhook_attempts') AS step`)).toEqual([{ step: 'made' }]);
    expect(await waitsAt('SELECT release_webhook_partitions(30) AS step')).toEqual([{ step: 'released' }]);
    const [name] = (await released()).filter((each) => each.startsWith('webhook_deliveries'));
    expect(await waitsAt(`SELECT drop_released_partition('${name ?? ''}', false)`)).toEqual(lock);
  } finally {
    await reader.end();
  }
});

test('a statement that took too long with both tables shut is not tried again in its round', async () => {
  const admin = new pg.Client({ connectionString: database.adminUrl });
  await admin.connect();
  await admin.query(`
    CREATE SEQUENCE times; ALTER SEQUENCE times OWNER TO fiscal_owner;
    CREATE FUNCTION take_long() RETURNS event_trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM nextval('public.times');
      RAISE EXCEPTION 'canceling statement due to statement timeout' USING ERRCODE = '57014';
    END $$;
    CREATE EVENT TRIGGER take_long ON ddl_command_end EXECUTE FUNCTION take_long()`);
  await expect(keeper({ tries: 3 }).run()).rejects.toThrow('statement timeout');
  expect((await admin.query(`SELECT nextval('times')::int4 AS n`)).rows).toEqual([{ n: 2 }]);
  await admin.end();
});
