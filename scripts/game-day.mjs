import path from 'node:path';
import { createInterface } from 'node:readline/promises';
import { setTimeout as delay } from 'node:timers/promises';

import { readArguments } from './lib/arguments.mjs';
import { readJson } from './lib/files.mjs';
import { DemoShop, FAULTS, isProcessOf, processOf } from './lib/game-day.mjs';
import { dataDirOf } from './lib/paths.mjs';
import { runProgram, UserError } from './lib/user-error.mjs';

const SALE_EVERY_MS = 1_000;
const LONGEST_MINUTES = 15;
/** What was sold meanwhile has come to its end, or waits for a person. */
const SETTLED_WITHIN_MS = 180_000;

/**
 * npm run game-day: breaks one thing in the demo that `npm start` runs, at random, sells meanwhile, and lets a person find out what it is.
 * Whatever ends it, the thing is mended.
 */
await runProgram(async () => {
  const { values } = readArguments('Usage: npm run game-day [-- --fault NAME --seconds N]', {
    values: ['fault', 'seconds'],
  });
  const name = values['fault'] ?? pickOne(Object.keys(FAULTS));
  const fault = FAULTS[name];
  if (!fault) throw new UserError(`There is no fault ${name}; there are: ${Object.keys(FAULTS).join(', ')}.`);
  const seconds = values['seconds'] === undefined ? null : Number(values['seconds']);
  if (seconds !== null && !(seconds > 0 && seconds <= LONGEST_MINUTES * 60))
    throw new UserError(`--seconds must be between 1 and ${LONGEST_MINUTES * 60}.`);
  const dataDir = dataDirOf(process.env);
  const demo = /** @type {import('./lib/game-day.mjs').Demo | undefined} */ (readJson(path.join(dataDir, 'demo.json')));
  const pid = processOf(dataDir, fault.program);
  if (!demo) throw new UserError('There is no demo; begin with npm start, in another terminal.');
  const mend = () => {
    // The same process, seen again: another one may have its number by now.
    if (isProcessOf(pid, fault.program)) process.kill(pid, 'SIGCONT');
  };
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.once(signal, () => {
      mend();
      process.exit(130);
    });

  const shop = new DemoShop(demo);
  const selling = shop.sellUntilClosed(SALE_EVERY_MS);
  console.log('A shop sells, one sale a second. Something breaks within half a minute.');
  console.log(
    `Find out what, and what to do: the console (${demo.gateway_url}/console), the dashboards, npm run cli -- doctor, docs/runbook.md.`,
  );
  await delay(seconds === null ? 5_000 + Math.random() * 25_000 : 1_000);
  process.kill(pid, 'SIGSTOP');
  const begun = performance.now();
  try {
    if (seconds === null) await patientPerson();
    else await delay(seconds * 1_000);
  } finally {
    mend();
  }
  console.log(
    `It was: ${fault.what} (${name}), for ${((performance.now() - begun) / 60_000).toFixed(1)} minutes. It is mended.`,
  );
  console.log(`Seen in: ${fault.seen}.\nTo read: ${fault.page}.`);
  const counts = await shop.close(SETTLED_WITHIN_MS);
  await selling;
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const shown = Object.entries(counts).map(([status, count]) => `${count} ${status}`);
  console.log(`Of ${total} sales: ${shown.join(', ')}.`);
  if (counts['unknown'])
    console.log('The unknown ones wait for a decision in the console: that is part of the exercise.');
  if ((counts['unanswered'] ?? 0) + (counts['accepted'] ?? 0) + (counts['sending'] ?? 0) > 0) process.exitCode = 1;
});

/** @param {string[]} names */
function pickOne(names) {
  return names[Math.floor(Math.random() * names.length)] ?? '';
}

async function patientPerson() {
  const reader = createInterface({ input: process.stdin, output: process.stdout });
  const signal = AbortSignal.timeout(LONGEST_MINUTES * 60_000);
  try {
    await reader.question('Press Enter when you know what it is. ', { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
    console.log('\nThe time is over.');
  } finally {
    reader.close();
  }
}
