import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from '../../system/database.js';
import { skipped, type FaultCase } from '../frame/case.js';
import { Load } from '../frame/load.js';
import { judge } from '../frame/truth.js';
import { untilTrue } from '../../../libs/runtime/src/testing/until.js';

/** Until the full disk is noticed: what fits into pages that are already there is still accepted, and saved. */
const NOTICED_WITHIN_MS = 120_000;
const STAYS_FULL_MS = 3_000;

export const diskFull: FaultCase = {
  number: '7',
  name: "PostgreSQL's disk full",
  stage: 'database',
  full: { receipts: 1_000, strikes: 3 },
  tenth: { receipts: 100, strikes: 1 },
  maxSeconds: 600,
  async run({ stage: { system, server, smallDisk }, size, chance, prefix }) {
    if (!smallDisk || !server) return skipped('only root on Linux may mount a small disk');
    const load = new Load(system.client, { prefix, chance, perTill: 2, breathMs: 5 });
    let restarts = 0;
    for (let fill = 0; fill < size.strikes; fill += 1) {
      await load.reaches(((fill + chance.next()) / size.strikes) * size.receipts);
      const ballast = fillUp(smallDisk);
      const before = load.refusals;
      await untilTrue(() => load.refusals > before, 'the full disk is noticed', NOTICED_WITHIN_MS);
      await delay(STAYS_FULL_MS);
      rmSync(ballast);
      if (!(await answers(system.database))) {
        // It gives up when not even its log can be written, as it must; the operator who frees the disk starts it again.
        await server.restart();
        restarts += 1;
      }
      const sold = await Promise.all(system.merchant.tills.map((till) => load.sellOnce(till, 'wait=60')));
      if (sold.some((one) => one?.answer.status !== 201)) throw new Error('not every register sold again');
    }
    await load.reaches(size.receipts);
    await load.end();
    const verdict = await judge(system, [load], { prefix, tills: system.merchant.tills });
    const refusals = load.refusals;
    const unfit = new Set(load.sold.flatMap((sold) => sold.setbacks).filter((setback) => !setback.startsWith('503 ')));
    if (unfit.size > 0) verdict.failures.push(`answered otherwise than with 503: ${[...unfit].join(', ')}`);
    const figures = [`${refusals} posts refused`, `PostgreSQL had to be started again ${restarts} ×`];
    return { ...verdict, kills: size.strikes, figures };
  },
};

function fillUp(folder: string): string {
  const file = join(folder, 'ballast');
  const handle = openSync(file, 'w');
  try {
    for (const block of [Buffer.alloc(1 << 20), Buffer.alloc(4_096)]) {
      try {
        for (;;) writeSync(handle, block);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
    }
  } finally {
    closeSync(handle);
  }
  return file;
}

async function answers(database: { adminUrl: string }): Promise<boolean> {
  for (let tries = 0; tries < 10; tries += 1) {
    const isUp = await sql(database, 'SELECT 1').then(
      () => true,
      () => false,
    );
    if (isUp) return true;
    await delay(500);
  }
  return false;
}
