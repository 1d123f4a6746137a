import { sql } from '../../system/database.js';
import { setFaults } from '../../system/outside-world.js';
import type { TestSystem } from '../../system/system.js';
import { until } from '../../../libs/runtime/src/testing/until.js';
import type { FaultCase } from '../frame/case.js';
import { Load } from '../frame/load.js';
import { judge } from '../frame/truth.js';

/** Answers no request in this time: what is under way stays open until everything is dead. */
const SLEEP_MS = 60_000;
/** So many lanes must be in the middle of something. */
const OPEN_LANES = 3;

export const allKilled: FaultCase = {
  number: '6b',
  name: 'everything killed at once, PostgreSQL too, and started on the same data',
  stage: 'database',
  full: { receipts: 1_000, strikes: 5 },
  tenth: { receipts: 100, strikes: 1 },
  maxSeconds: 600,
  async run({ stage: { system, server }, size, chance, prefix }) {
    if (!server) throw new Error('the stage has no database of its own');
    const load = new Load(system.client, { prefix, chance, perTill: 2, waitS: 2 });
    const failures: string[] = [];
    const each = size.receipts / size.strikes;
    for (let strike = 1; strike <= size.strikes; strike += 1) {
      await load.reaches(strike * each * 0.8);
      // The registers have registered and not answered yet: attempts are open when everything dies.
      await setFaults(system, [{ fault: 'late_answer', delay_ms: SLEEP_MS }]);
      await until(
        'lanes have open attempts',
        () => openAttempts(system),
        (open) => open.length >= OPEN_LANES,
      );
      const programs = [...system.gateways, ...system.relays, system.register];
      await Promise.all([server.kill(), ...programs.map((program) => program.end('SIGKILL'))]);
      await server.restart();
      const left = await openAttempts(system);
      if (left.length < OPEN_LANES) failures.push(`only ${left.length} attempts were left open`);
      await Promise.all(programs.map((program) => program.start()));
      const evidence = await until(
        'the open attempts are resolved',
        () => evidenceOf(system, left),
        (found) => !found.includes('none'),
      );
      // Nothing was guessed: the register's journal said so.
      if (evidence.some((one) => one !== 'journal')) failures.push(`resolved by ${evidence.join(', ')}`);
    }
    await load.end();
    const verdict = await judge(system, [load], { prefix, tills: system.merchant.tills });
    return { ...verdict, failures: [...verdict.failures, ...failures], kills: size.strikes * 6 };
  },
};

async function openAttempts({ database }: TestSystem): Promise<string[]> {
  const rows = await sql<{ id: string }>(database, "SELECT receipt_id AS id FROM attempts WHERE state = 'open'");
  return rows.map(({ id }) => id);
}

async function evidenceOf({ database }: TestSystem, receiptIds: readonly string[]): Promise<string[]> {
  const rows = await sql<{ evidence: string }>(
    database,
    "SELECT DISTINCT coalesce(evidence::text, 'none') AS evidence FROM receipts WHERE id = ANY($1)",
    [receiptIds],
  );
  return rows.map(({ evidence }) => evidence);
}
