import { writeFileSync } from 'node:fs';
import { endServersWithUs } from '../../scripts/lib/postgres-cluster.mjs';
import { CASES } from './cases.js';
import type { FaultCase } from './frame/case.js';
import { runCase } from './frame/run-case.js';
import { cellsOf, HEADER, remarksOf, rowAsMarkdown, type Row } from './frame/row.js';
import { startStage } from './frame/stage.js';

/**
 * `npm run test:faults [-- case numbers] [--tenth] [--long] [--seed N]`: each case on a system of its own, one row each.
 * The table goes to stdout, what happens meanwhile to stderr. Started by scripts/faults.mjs, which brings the database.
 */
async function main(args: readonly string[]): Promise<number> {
  const seedAt = args.indexOf('--seed');
  const seed = seedAt < 0 ? Math.floor(Math.random() * 1_000_000) : Number(args[seedAt + 1]);
  if (!Number.isSafeInteger(seed)) throw new Error('--seed needs a whole number');
  const named = args.filter((arg, index) => !arg.startsWith('--') && (seedAt < 0 || index !== seedAt + 1));
  const wanted = CASES.filter((one) => named.length === 0 || named.some((name) => isNamed(one, name)));
  const unknown = named.find((name) => !CASES.some((one) => isNamed(one, name)));
  if (unknown !== undefined)
    throw new Error(`No such case: ${unknown}. There are: ${CASES.map((one) => one.number).join(', ')}.`);
  const scale = args.includes('--tenth') ? ('tenth' as const) : ('full' as const);
  const options = { seed, scale, judgesTimes: true, isLong: args.includes('--long') };
  const rows: Row[] = [];
  process.stdout.write(`${HEADER.join('\n')}\n`);
  for (const fault of wanted) {
    process.stderr.write(`case ${fault.number}: ${fault.name} (seed ${seed})\n`);
    const stage = await startStage(fault.stage);
    try {
      const row = await runCase(fault, stage, options);
      rows.push(row);
      process.stdout.write(`${rowAsMarkdown(row)}\n`);
      for (const failure of row.failures) process.stderr.write(`  ${failure}\n`);
    } finally {
      await stage.stop();
    }
  }
  const file = process.env['FAULT_ROWS_FILE'];
  if (file) {
    const report = rows.map((row) => ({ number: row.number, cells: cellsOf(row), remarks: remarksOf(row) }));
    writeFileSync(file, JSON.stringify(report));
  }
  return rows.some(({ failures }) => failures.length > 0) ? 1 : 0;
}

/** "2" means 2a and 2b; "nation" the case of that name. */
function isNamed({ number, alias }: FaultCase, name: string): boolean {
  return number === name || alias === name || number.replace(/[a-z]$/, '') === name;
}

// A run that is broken off leaves no servers of a case behind.
endServersWithUs();
// Not left to the end of the event loop: a client that still asks in a case that was given up must not hold it open.
process.exit(await main(process.argv.slice(2)));
