import { GROUPS } from './test-groups.mjs';
import { UserError } from './user-error.mjs';

/** @typedef {{ passed: number, failed: number, skipped: number }} Counts */
/** @typedef {Counts & { name: string, seconds: number, budgetSeconds: number }} Result */

/**
 * Runs groups of checks. The quick ones that only read run beside the slow linter; everything that starts programs or
 * databases runs alone, so that its times mean something.
 * @param {string[]} names all when empty
 * @returns {Promise<Counts>}
 */
export async function runGroups(names) {
  const unknown = names.find((name) => !GROUPS.some((group) => group.name === name));
  if (unknown !== undefined) {
    throw new UserError(`There is no group "${unknown}", only ${GROUPS.map(({ name }) => name).join(', ')}.`);
  }
  const wanted = GROUPS.filter(({ name }) => names.length === 0 || names.includes(name));
  /** @type {Result[]} */
  const results = [];
  const lanes = new Map(wanted.map(({ lane }) => [lane, wanted.filter((group) => group.lane === lane)]));
  const inTurn = async (/** @type {typeof GROUPS} */ groups) => {
    for (const group of groups) results.push(await runGroup(group));
  };
  await Promise.all([inTurn(lanes.get('read') ?? []), inTurn(lanes.get('beside') ?? [])]);
  await inTurn(lanes.get('alone') ?? []);
  printTimes(results);
  const sum = (/** @type {keyof Counts} */ key) => results.reduce((total, result) => total + result[key], 0);
  return { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') };
}

/**
 * A group that breaks instead of answering is one failure, never a silent gap.
 * @param {typeof GROUPS[number]} group
 * @returns {Promise<Result>}
 */
async function runGroup({ name, budgetSeconds, run }) {
  const begin = performance.now();
  /** @type {Counts} */
  let counts = { passed: 0, failed: 1, skipped: 0 };
  try {
    counts = await run();
  } catch (error) {
    console.error(`✖ ${name}: ${error instanceof UserError ? error.message : String(Object(error).stack ?? error)}`);
  }
  const seconds = (performance.now() - begin) / 1000;
  console.log(`${counts.failed === 0 ? '✔' : '✖'} ${name} (${seconds.toFixed(1)} s)`);
  return { ...counts, name, seconds, budgetSeconds };
}

/** @param {Result[]} results */
function printTimes(results) {
  console.log('\ngroup          passed failed skipped  seconds  budget');
  for (const { name, passed, failed, skipped, seconds, budgetSeconds } of results) {
    const cells = [passed, failed].map((count) => String(count).padStart(7)).join('');
    const over = seconds > budgetSeconds ? '  over budget' : '';
    console.log(
      `${name.padEnd(14)}${cells}${String(skipped).padStart(8)}${seconds.toFixed(1).padStart(9)}` +
        `${String(budgetSeconds).padStart(8)}${over}`,
    );
  }
  const total = results.reduce((sum, { seconds }) => sum + seconds, 0);
  console.log(`Sum of the groups: ${total.toFixed(0)} s (some run side by side).\n`);
}
