// Promise: what several lanes write in one statement is there as a whole or not at all when their relay is killed just then: after the commit and
// before its answer, or so early that the statement is read only when others have taken its lanes. Each sale is registered once, and none is lost.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startOwnServer, type OwnServer } from '../../libs/database/src/testing/own-server.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { sql } from './database.js';
import { allRegistered, expectEachExactlyOnce, setFaults } from './ground-truth.js';
import { startSystem, type TestSystem } from './system.js';

const REGISTERS = 8;
/** Long enough for what has to be done between the sending and the answers; doubled as often as a machine was too slow for it. */
const ANSWER_AFTER_MS = 4_000;
/** Well below a relay's patience with a register. */
const LONGEST_ANSWER_MS = 16_000;
/** Of the time to the answers. */
const STOPPED_BEFORE = 1 / 8;
/** Longer than a late statement holds up the next one; shorter than a relay's patience with a silent session. */
const TOGETHER_WITHIN_MS = 1_000;
const MOST_ROUNDS = 8;
/** Of a relay's lanes: its sessions for all else have other names. */
const LANES = `application_name = 'device-relay'`;
let answerAfterMs = ANSWER_AFTER_MS;
let server: OwnServer;
let system: TestSystem;

beforeAll(async () => {
  server = await startOwnServer();
  system = await startSystem({
    registers: REGISTERS,
    database: await server.migratedDatabase(),
    // Few enough that each of them is busy, and statements wait for one.
    relayEnv: { LANE_POOL_SIZE: '3' },
  });
  await sellAtEach('wait=60');
});
afterAll(async () => {
  await system?.stop();
  await server?.remove();
});

async function sellAtEach(prefer: string): Promise<void> {
  const tills = Array.from({ length: REGISTERS }, (_, till) => till);
  const answers = await Promise.all(
    tills.map((till) => system.client.post('/v1/receipts', system.client.saleOf(till), { prefer })),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([prefer === 'respond-async' ? 202 : 201]));
}

/**
 * Two sales for each register: the first is there and will be answered a while later, the second waits behind it.
 * @returns whether the machine was quick enough: no register has answered yet
 */
async function sellSlowly(): Promise<boolean> {
  const begun = performance.now();
  await setFaults(system, [{ fault: 'late_answer', next: 1, delay_ms: answerAfterMs }]);
  for (let turn = 0; turn < 2; turn += 1) await sellAtEach('respond-async');
  await until(
    'all registers have one',
    openAttempts,
    (open) => open === REGISTERS || performance.now() > begun + answerAfterMs,
  );
  return performance.now() < begun + answerAfterMs * (1 - STOPPED_BEFORE);
}

/** A round that came too late: nothing is killed, and the next one has more time. */
async function tooLate(): Promise<false> {
  answerAfterMs = Math.min(2 * answerAfterMs, LONGEST_ANSWER_MS);
  await setFaults(system, []);
  await expectAllOnce();
  return false;
}

async function openAttempts(): Promise<number> {
  const [row] = await sql<{ open: number }>(
    system.database,
    `SELECT count(*)::int AS open FROM attempts WHERE state = 'open'`,
  );
  return row?.open ?? Number.NaN;
}

async function unsent(): Promise<number> {
  const [row] = await sql<{ n: number }>(
    system.database,
    `SELECT count(*)::int AS n FROM receipts WHERE ofd_status = 'pending'`,
  );
  return row?.n ?? Number.NaN;
}

async function registered(): Promise<number> {
  const [row] = await sql<{ n: number }>(
    system.database,
    `SELECT count(*)::int AS n FROM receipts WHERE status = 'registered'`,
  );
  return row?.n ?? Number.NaN;
}

/** Its commits wait for a standby that there is not: they are on disk, and no answer comes. */
async function holdCommits(isHeld: boolean): Promise<void> {
  const set = isHeld ? `SET synchronous_standby_names = 'none_such'` : 'RESET synchronous_standby_names';
  await sql(system.database, `ALTER SYSTEM ${set}`);
  await sql(system.database, 'SELECT pg_reload_conf()');
}

async function killRelay(): Promise<void> {
  const [relay] = system.relays;
  relay?.signal('SIGKILL');
  await until(
    'the relay is gone',
    () => relay?.isRunning,
    (isRunning) => isRunning === false,
  );
  await setFaults(system, []);
}

/** Lanes' sessions at the server, by process. */
async function lanePids(condition = 'true'): Promise<number[]> {
  const rows = await sql<{ pid: number }>(
    system.database,
    `SELECT pid FROM pg_stat_activity WHERE ${LANES} AND ${condition}`,
  );
  return rows.map(({ pid }) => pid);
}

/** What these sessions have executed since the server writes down all statements. */
function executedBy(pids: readonly number[]): string[] {
  const log = readFileSync(join(server.clusterDir, '..', 'logs', 'postgres.log'), 'utf8');
  return log.split('STATEMENT-OF ').filter((entry) => pids.some((pid) => entry.startsWith(`${String(pid)} `)));
}

async function writeDownStatements(): Promise<void> {
  for (const set of [`log_line_prefix = 'STATEMENT-OF %p '`, `log_statement = 'all'`])
    await sql(system.database, `ALTER SYSTEM SET ${set}`);
  await sql(system.database, 'SELECT pg_reload_conf()');
}

async function expectAllOnce(): Promise<void> {
  await expectEachExactlyOnce(system, await allRegistered(system));
}

/** What comes at one moment is a matter of the machine: again, until several lanes were met in one statement. */
async function untilTogether(round: () => Promise<boolean>): Promise<void> {
  answerAfterMs = ANSWER_AFTER_MS;
  for (let rounds = 0; rounds < MOST_ROUNDS; rounds += 1) if (await round()) return;
  throw new Error('no results were written together in any round');
}

test('after the commit, before its answer', () =>
  untilTogether(async () => {
    const before = await registered();
    if (!(await sellSlowly())) return tooLate();
    await holdCommits(true);
    let held: number;
    try {
      // The first result has a statement by itself; those that come while it is late have one together.
      await until(
        'statements wait for their commit',
        () => lanePids(`wait_event = 'SyncRep'`),
        (pids) => pids.length > 0,
      );
      await delay(TOGETHER_WITHIN_MS);
      await killRelay();
      held = (await lanePids(`wait_event = 'SyncRep'`)).length;
    } finally {
      await holdCommits(false);
    }
    await until(
      'its sessions are gone',
      () => lanePids(),
      (pids) => pids.length === 0,
    );
    const committed = (await registered()) - before;
    expect(committed).toBeGreaterThanOrEqual(held);
    await system.relays[0]?.start();
    await expectAllOnce();
    return committed > held;
  }));

test('before the server has read it, which it does when another relay has the lanes', () =>
  untilTogether(async () => {
    const begun = performance.now();
    if (!(await sellSlowly())) return tooLate();
    const stoppedBeforeMs = answerAfterMs * STOPPED_BEFORE;
    await delay(begun + answerAfterMs - stoppedBeforeMs - performance.now());
    const stopped = await lanePids();
    // From then on one may hold what all need.
    if (performance.now() > begun + answerAfterMs - stoppedBeforeMs / 2) return tooLate();
    for (const pid of stopped) process.kill(pid, 'SIGSTOP');
    try {
      await delay(stoppedBeforeMs + TOGETHER_WITHIN_MS);
      await killRelay();
      await writeDownStatements();
      await system.relays[0]?.start();
      const receipts = await allRegistered(system);
      await until('nothing is under way', openAttempts, (open) => open === 0);
      // The relay asks the registers what they have sent; its answers change the same rows.
      await until('the OFD has all', unsent, (left) => left === 0);
      const before = await rows();
      for (const pid of stopped) process.kill(pid, 'SIGCONT');
      await until(
        'the late statements have been read',
        () => lanePids(`pid = ANY('{${stopped.join(',')}}')`),
        (left) => left.length === 0,
      );
      expect(await rows()).toEqual(before);
      await expectEachExactlyOnce(system, receipts);
    } finally {
      for (const pid of stopped) goOn(pid);
    }
    return executedBy(stopped).some((statement) => statement.includes('given AS MATERIALIZED'));
  }));

/** All that results and intents change. */
function rows(): Promise<object[]> {
  return sql(
    system.database,
    `SELECT r.id, r.updated_at, (SELECT jsonb_agg(to_jsonb(a) ORDER BY a.id) FROM attempts a WHERE a.receipt_id = r.id) AS attempts,
            (SELECT count(*)::int FROM events e WHERE e.subject_id = r.id) AS events,
            (SELECT to_jsonb(l) FROM lanes l WHERE l.device_id = r.device_id) AS lane
       FROM receipts r ORDER BY r.id`,
  );
}

function goOn(pid: number): void {
  try {
    process.kill(pid, 'SIGCONT');
  } catch {
    // It has ended by itself.
  }
}
