// Promise: no row is refused for lack of a partition, whatever its id; no month holds up others; no statement waits for long behind the keeper.
import pg from 'pg';
import { PARTITIONED_TABLES, readPartitions } from '#ledger';
import {
  at,
  both,
  closeAged,
  deliver,
  ids,
  keeper,
  MONTHLY_TABLES,
  openAged,
  partitions,
  released,
  rowsOf,
  run,
  suffix,
} from './testing/aged-partitions.js';

beforeEach(openAged);
afterEach(closeAged);

test('what is to be kept for a century stays: no month is older than that', async () => {
  const days = {
    folder: at.folder,
    keepDays: 36_500,
    keepEventsDays: 36_500,
    keepCallsDays: 36_500,
    keepLeavingDays: { attempts: 36_507, receipts: 36_507 },
  };
  const before = await Promise.all(PARTITIONED_TABLES.map((table) => partitions(table)));
  await keeper(days).run();
  const after = await Promise.all(PARTITIONED_TABLES.map((table) => partitions(table)));
  expect(after.map((names, index) => names.slice(0, before[index]?.length))).toEqual(before);
  expect(await released()).toEqual([]);
});

describe('months to come', () => {
  test('are made three ahead, once; what is due in the last partition goes on being written', async () => {
    await keeper().run();
    const wanted = [1, 2, 3, 4].map(suffix);
    for (const table of MONTHLY_TABLES) expect((await partitions(table)).slice(-4)).toEqual(wanted);
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
      for (const table of MONTHLY_TABLES) expect((await partitions(table)).slice(-4)).toEqual([1, 2, 3, 4].map(suffix));
      for (const table of [
        'webhook_deliveries SET attempt_count = attempt_count + 1',
        'webhook_attempts SET answer = answer',
      ])
        expect((await at.programs.query(`UPDATE ${table}`)).rowCount).toBe(
          all.length * (table.includes('answer') ? 2 : 1),
        );
    }
    expect(await ids()).toEqual(all.sort());
    expect(await rowsOf('webhook_attempts')).toHaveLength(2 * all.length);
  });

  test('a last partition that has many rows stays as it is, and a person gives it its end', async () => {
    await deliver(5_001, { month: 1, state: 'pending' });
    await at.owner.query(
      `DELETE FROM webhook_attempts WHERE number = 2 OR delivery_id = (SELECT min(id) FROM webhook_deliveries)`,
    );
    await keeper().run();
    expect((await partitions()).at(-1)).toBe(suffix(1));
    expect((await partitions('webhook_attempts')).at(-1)).toBe(suffix(4));
    expect((await readPartitions(run)).daysAhead).toBeLessThan(32);
    await deliver(1, { month: 120, state: 'pending' });
    const before = await both();
    await at.owner.query(`SELECT make_next_partition('webhook_deliveries', 10000)`);
    await keeper().run();
    expect((await partitions()).slice(-4)).toEqual([1, 2, 3, 4].map(suffix));
    expect(await both()).toEqual(before);
  });

  test('a new partition has the settings and statistics of its table', async () => {
    await keeper().run();
    for (const table of PARTITIONED_TABLES) {
      const { rows } = await at.owner.query<{ options: string[]; statistics: number }>(
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
  test('a partition stays as it is while more than five thousand of its deliveries are not finished', async () => {
    await deliver(5_001, { month: -3, state: 'pending' });
    await deliver(100, { month: -3 });
    const before = await both();
    await keeper().run();
    expect(await both()).toEqual(before);
    expect(await partitions()).toContain(suffix(-3));
    expect(await readPartitions(run)).toMatchObject({ held: ['webhooks'] });
    await at.owner.query(`UPDATE webhook_deliveries SET state = 'failed', finished_at = created_at
                        WHERE id = (SELECT min(id) FROM webhook_deliveries WHERE state = 'pending')`);
    await keeper().run();
    expect(await ids()).toHaveLength(5_000);
    expect(await readPartitions(run)).toMatchObject({ held: [] });
  });

  test('a month of which too much is not finished stays alone: the later ones leave', async () => {
    const held = await deliver(5_001, { month: -4, state: 'pending' });
    const staying = await deliver(3, { month: -3, state: 'pending' });
    await deliver(20, { month: -3 });
    await keeper().run();
    expect(await ids()).toEqual([...held, ...staying].sort());
    expect(await partitions()).toEqual(expect.arrayContaining([suffix(-4), expect.stringMatching(/^kept_/)]));
    expect(await readPartitions(run)).toMatchObject({ held: ['webhooks'] });
    await at.owner.query(`UPDATE webhook_deliveries SET state = 'failed', finished_at = created_at WHERE id = $1`, [
      held[0],
    ]);
    await keeper().run();
    expect(await ids()).toEqual([...held.slice(1), ...staying].sort());
    expect(await partitions()).toEqual(await partitions('webhook_attempts'));
    expect(await readPartitions(run)).toMatchObject({ held: [] });
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
    expect(await readPartitions(run)).toMatchObject({ held: [] });
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
      await at.programs.query(
        `CREATE TEMP VIEW ${name} AS SELECT * FROM ${like} WHERE false; GRANT SELECT ON ${name} TO PUBLIC`,
      );
    let step = 'released';
    while (step === 'released')
      step =
        (await at.programs.query<{ step: string }>('SELECT release_webhook_partitions(30) AS step')).rows[0]?.step ??
        '';
    expect(step).toBe('none');
    expect((await at.programs.query(`SELECT make_next_partition('webhook_deliveries') AS step`)).rows).toEqual([
      { step: 'made' },
    ]);
    expect(await ids()).toEqual(staying);
  });
});

test('behind the keeper no statement waits for longer than its locks are waited for, and a later round does what it could not', async () => {
  await deliver(40, { month: -3 });
  const reader = new pg.Client({ connectionString: at.database.url });
  await reader.connect();
  await reader.query('BEGIN; SELECT FROM webhook_attempts LIMIT 1');
  let [isOver, slowestMs, statements] = [false, 0, 0];
  const gateway = (async (): Promise<void> => {
    while (!isOver) {
      const begunMs = performance.now();
      await at.programs.query(`SELECT FROM webhook_attempts LIMIT 1; SELECT FROM webhook_deliveries LIMIT 1`);
      await at.programs.query(`UPDATE webhook_endpoints SET wakes = wakes + 1 WHERE id = 'whk_live'`);
      slowestMs = Math.max(slowestMs, performance.now() - begunMs);
      statements += 1;
    }
  })();
  const beganMs = performance.now();
  try {
    await expect(keeper({ tries: 20, retryMs: 20 }).run()).rejects.toThrow(/lock timeout/);
  } finally {
    isOver = true;
    await gateway;
    await reader.query('ROLLBACK');
    await reader.end();
  }
  const triedMs = performance.now() - beganMs;
  expect(statements).toBeGreaterThan(20);
  // Three locks of 50 ms each, and what a busy machine adds; twenty tries took as long as twenty times that.
  expect(slowestMs).toBeLessThan(triedMs / 3);
  await keeper().run();
  expect(await ids()).toEqual([]);
});

test('no lock is made stronger while it is held: what refers to another table locks that first, as it needs it at last', async () => {
  await deliver(40, { month: -3 });
  const reader = new pg.Client({ connectionString: at.database.url });
  await reader.connect();
  await reader.query('BEGIN; LOCK TABLE webhook_endpoints IN ACCESS SHARE MODE');
  const waitsAt = (text: string): Promise<unknown> =>
    at.programs.query(text).then(
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

test('a statement that took too long with both tables shut is not tried again for its table in its round', async () => {
  const admin = new pg.Client({ connectionString: at.database.adminUrl });
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
  expect((await admin.query(`SELECT nextval('times')::int4 AS n`)).rows).toEqual([
    { n: PARTITIONED_TABLES.length + 1 },
  ]);
  await admin.end();
});
