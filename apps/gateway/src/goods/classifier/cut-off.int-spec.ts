// Promise: a process killed while it goes back or loads, after any statement, leaves one whole version in force, the old or the new; the command run again completes, and never answers "nothing happened" when it did.
import 'reflect-metadata';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import type { BackOutcome } from './go-back.js';
import type { LoadOutcome } from './load-classifier.js';
import { ClassifierRig } from './testing/classifier-rig.js';
import { CuttingLine } from './testing/cutting-line.js';
import { RegisterSite, type SiteRow } from './testing/register-site.js';

const MERCHANTS = ['mer_a', 'mer_b'];
/** What serialises versions (write-version.ts). */
const VERSION_LOCK = 0x434c;
const TABLES = ['classifier_entries', 'classifier_history', 'classifier_imports', 'affected_products', 'events'];
const site = new RegisterSite();
let database: TestDatabase;
let admin: pg.Client;

const row = (number: number, more: Partial<SiteRow> = {}): SiteRow => ({
  ...{ spic: String(10_000_000_000_000_000n + BigInt(number)), ru: `Товар ${number}`, uz: `Tovar ${number}` },
  ...{ packages: [{ code: String(number), name: 'шт' }], marked: false, cash: true },
  ...more,
});
const FIRST = [row(1), row(2), row(3)];
/** One has ended, one is marked, one is new. */
const SECOND = [row(1, { marked: true }), row(3), row(4)];

let rig: ClassifierRig;

beforeAll(async () => {
  await site.start();
  database = await createTestDatabase();
  admin = new pg.Client({ connectionString: database.adminUrl });
  await admin.connect();
  rig = ClassifierRig.on(database.url);
  for (const [index, id] of MERCHANTS.entries())
    await admin.query(`INSERT INTO merchants (id, code, name, tin) VALUES ($1, $1, $1, $2)`, [id, `30000000${index}`]);
  await admin.query(
    `INSERT INTO products (merchant_id, sku, name, name_key, spic, package_code, units, vat_percent)
     SELECT $1, spic, spic, spic, spic, '1', 796, 12 FROM unnest($2::text[]) AS spics (spic)`,
    [MERCHANTS[0], [...FIRST, ...SECOND].map(({ spic }) => spic).filter((spic, at, all) => all.indexOf(spic) === at)],
  );
  site.rows = FIRST;
  expect(await rig.load('full', site.fullUrl)).toMatchObject({ kind: 'applied', version: 1 });
  await keep('first');
  site.rows = SECOND;
  expect(await rig.load('full', site.fullUrl)).toMatchObject({ kind: 'applied', version: 2 });
  await keep('second');
});

afterAll(async () => {
  await rig?.end();
  await admin?.end();
  await database?.drop();
  await site.stop();
});

async function keep(name: string): Promise<void> {
  await admin.query(`CREATE SCHEMA ${name}`);
  for (const table of TABLES) await admin.query(`CREATE TABLE ${name}.${table} AS SELECT * FROM public.${table}`);
}

/** As it was when it was kept. */
async function restore(name: string): Promise<void> {
  const statements = ['BEGIN', 'SET LOCAL session_replication_role = replica', 'DELETE FROM classifier_drafts'];
  for (const table of TABLES)
    statements.push(`DELETE FROM public.${table}`, `INSERT INTO public.${table} SELECT * FROM ${name}.${table}`);
  await admin.query([...statements, 'DELETE FROM audit_records', 'COMMIT'].join(';'));
}

/** All that a switch writes, as one text; of the trail and the runs, how many there are of each kind. */
async function world(): Promise<string> {
  const { rows } = await admin.query<{ world: unknown }>(`
    SELECT jsonb_build_object(
      'entries', (SELECT jsonb_agg(to_jsonb(e) ORDER BY spic) FROM classifier_entries e),
      'history', (SELECT jsonb_agg(to_jsonb(h) ORDER BY replaced_in, spic) FROM classifier_history h),
      'affected', (SELECT jsonb_agg(to_jsonb(a) - 'at' - 'created_at' ORDER BY version, sku) FROM affected_products a),
      'events', (SELECT jsonb_agg(data ORDER BY data::text) FROM events),
      'applied', (SELECT jsonb_agg(jsonb_build_array(kind, version, restored_version, holds_fetching) ORDER BY version)
                    FROM classifier_imports WHERE version IS NOT NULL),
      'trail', (SELECT jsonb_agg(jsonb_build_array(merchant_id, action, target_id) ORDER BY merchant_id, sequence)
                  FROM audit_records)) AS world`);
  return JSON.stringify(rows[0]?.world, null, 1);
}

/** Who died is not waited for any longer. */
async function halfAMinuteLater(): Promise<void> {
  await admin.query(`UPDATE classifier_imports SET seen_at = seen_at - interval '30 seconds'`);
}

interface Case {
  /** Kept state that it begins from. */
  from: 'first' | 'second';
  run: (on: ClassifierRig) => Promise<BackOutcome | LoadOutcome>;
  /** What the second time says when the first had come through. */
  again: object;
}

const CASES: Record<string, Case> = {
  'going back': {
    from: 'second',
    run: (on) => on.back(1),
    again: { kind: 'refused', reason: expect.stringContaining('already') as unknown },
  },
  'a load': {
    from: 'first',
    run: (on) => on.load('full', site.fullUrl),
    again: { kind: 'applied', version: null },
  },
};

describe.each(Object.entries(CASES))('%s', (_name, { from, run, again }) => {
  async function worlds(): Promise<{ before: string; after: string; statements: number }> {
    await restore(from);
    const before = await world();
    const line = new CuttingLine(new URL(database.url));
    const over = ClassifierRig.on(await line.listen());
    expect(await run(over)).toMatchObject({ kind: 'applied' });
    await over.end();
    await line.close();
    return { before, after: await world(), statements: line.statements };
  }

  /** @returns how often the old and how often the new version was found */
  async function cutEverywhere(dies: boolean, check: (is: 'old' | 'new', answer: unknown) => Promise<void>) {
    const { before, after, statements } = await worlds();
    const found = { old: 0, new: 0 };
    for (let cutAfter = 1; cutAfter <= statements; cutAfter += 1) {
      await restore(from);
      const line = new CuttingLine(new URL(database.url));
      const over = ClassifierRig.on(await line.listen());
      line.arm(cutAfter, { dies });
      const answer: unknown = await run(over).catch((error: unknown) => error);
      await over.end();
      await line.close();
      expect(line.wasCut).toBe(true);
      const now = await world();
      expect([before, after]).toContain(now);
      const is = now === before ? 'old' : 'new';
      found[is] += 1;
      await check(is, answer);
      expect(await world()).toBe(after);
      expect((await admin.query('SELECT FROM classifier_drafts')).rowCount).toBe(0);
    }
    return found;
  }

  test('killed after any statement', async () => {
    const found = await cutEverywhere(true, async (is) => {
      await halfAMinuteLater();
      expect(await run(rig)).toMatchObject(is === 'old' ? { kind: 'applied' } : again);
    });
    expect(found.old).toBeGreaterThan(15);
    expect(found.new).toBeGreaterThan(0);
  });

  test('cut off after any statement: what it reports is what happened, and it can be run again at once', async () => {
    let busy = 0;
    const found = await cutEverywhere(false, async (is, answer) => {
      const saysApplied = (answer as { kind?: string }).kind === 'applied';
      expect([is, saysApplied]).toEqual([is, is === 'new']);
      let outcome = await run(rig);
      if (outcome.kind === 'busy') {
        busy += 1;
        await halfAMinuteLater();
        outcome = await run(rig);
      }
      expect(outcome).toMatchObject(is === 'old' ? { kind: 'applied' } : again);
    });
    expect(found.new).toBeGreaterThan(0);
    // Only where it got no answer to the write of its claim.
    expect(busy).toBe(1);
  });
});

describe('who was taken for dead and is not', () => {
  const LOST = { kind: 'failed', reason: expect.stringContaining('taken its place') as unknown };
  let slow: ClassifierRig;

  beforeAll(() => {
    slow = ClassifierRig.on(database.url);
  });

  afterAll(() => slow.end());

  /** A load that hangs at its n-th file, for longer than any caller waits. */
  async function hangingAt(file: number): Promise<{ loading: Promise<LoadOutcome> }> {
    await restore('first');
    site.asked.length = 0;
    site.troubles = [...Array.from({ length: file - 1 }), 'hang'] as typeof site.troubles;
    const loading = slow.load('full', site.fullUrl);
    while (site.asked.length < file) await delay(5);
    await halfAMinuteLater();
    return { loading };
  }

  test('when another process has gone on with its load, it puts nothing in force a second time', async () => {
    const { loading } = await hangingAt(2);
    expect(await rig.load('full', site.fullUrl)).toMatchObject({ kind: 'applied', version: 2 });
    const after = await world();
    site.release();
    expect(await loading).toMatchObject(LOST);
    expect(await world()).toBe(after);
  });

  test('when its drafts were cleared away, what is left of them does not pass for the whole register', async () => {
    const { loading } = await hangingAt(1);
    expect(await rig.load('inactive', site.inactiveUrl)).toMatchObject({ kind: 'failed' });
    const before = await world();
    site.release();
    expect(await loading).toMatchObject(LOST);
    expect(await world()).toBe(before);
  });

  test('when another process has gone on with it while it waits for its switch, one of them switches, with all of it', async () => {
    await restore('second');
    const after = await world();
    await restore('first');
    await admin.query(`SELECT pg_advisory_lock(${VERSION_LOCK}, 0)`);
    const loads = [slow.load('full', site.fullUrl)];
    await switchesWait(1);
    await halfAMinuteLater();
    loads.push(rig.load('full', site.fullUrl));
    await switchesWait(2);
    await admin.query(`SELECT pg_advisory_unlock(${VERSION_LOCK}, 0)`);
    expect(await Promise.all(loads)).toMatchObject([LOST, { kind: 'applied', version: 2 }]);
    expect(await world()).toBe(after);
  });

  /** Until so many wait for the lock that serialises versions. */
  async function switchesWait(count: number): Promise<void> {
    for (let waiting = 0; waiting < count; await delay(5)) {
      const { rows } = await admin.query<{ n: number }>(
        `SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory' AND classid = $1 AND NOT granted`,
        [VERSION_LOCK],
      );
      waiting = rows[0]?.n ?? 0;
    }
  }

  test('when a person went back meanwhile, that stays', async () => {
    const { loading } = await hangingAt(2);
    await restore('second');
    expect(await rig.back()).toMatchObject({ kind: 'applied', restored: 1 });
    const after = await world();
    site.release();
    expect(await loading).toMatchObject(LOST);
    expect(await world()).toBe(after);
  });
});
