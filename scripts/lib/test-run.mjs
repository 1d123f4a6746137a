import { GROUPS, runTests } from './test-groups.mjs';
import { UserError } from './user-error.mjs';

/** @typedef {{ passed: number, failed: number, skipped: number, names?: string[] }} Counts `names`: of what failed */
/** @typedef {Counts & { name: string, seconds: number, budgetSeconds: number }} Result */
/** @typedef {import('./test-groups.mjs').CheckGroup} CheckGroup */
/** @typedef {import('./test-groups.mjs').JestGroup} JestGroup */

/**
 * Runs groups of checks. Those that only read run in two rows beside each other, unit and integration tests together; whole
 * systems run alone.
 * @param {string[]} names those of every change when empty
 * @returns {Promise<Counts>}
 */
export async function runGroups(names) {
  const unknown = names.find((name) => !GROUPS.some((group) => group.name === name));
  if (unknown !== undefined) {
    throw new UserError(`There is no group "${unknown}", only ${GROUPS.map(({ name }) => name).join(', ')}.`);
  }
  const wanted = GROUPS.filter(({ name, isNamedOnly }) => (names.length === 0 ? !isNamedOnly : names.includes(name)));
  /** @type {Result[]} */
  const results = [];
  const beganMs = performance.now();
  const inTurn = async (/** @type {'read' | 'beside' | 'alone'} */ lane) => {
    for (const group of wanted) {
      if (group.lane === 'jest' && lane === 'alone' && !results.some(({ name }) => name === group.name)) {
        results.push(...(await runJestGroups(wanted.filter((each) => each.lane === 'jest'))));
      } else if (group.lane === lane) results.push(await runGroup(group));
    }
  };
  await Promise.all([inTurn('read'), inTurn('beside')]);
  await inTurn('alone');
  printTimes(results, (performance.now() - beganMs) / 1000);
  printFailed(results);
  const sum = (/** @type {'passed' | 'failed' | 'skipped'} */ key) =>
    results.reduce((total, result) => total + result[key], 0);
  return { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') };
}

/**
 * A group that breaks instead of answering is one failure, never a silent gap.
 * @param {CheckGroup} group
 * @returns {Promise<Result>}
 */
async function runGroup({ name, budgetSeconds, run }) {
  const begin = performance.now();
  /** @type {Counts} */
  let counts = { passed: 0, failed: 1, skipped: 0, names: ['it broke off'] };
  try {
    counts = await run();
  } catch (error) {
    console.error(`✖ ${name}: ${error instanceof UserError ? error.message : String(Object(error).stack ?? error)}`);
  }
  const seconds = (performance.now() - begin) / 1000;
  console.log(`${counts.failed === 0 ? '✔' : '✖'} ${name} (${seconds.toFixed(1)} s)`);
  return { ...counts, name, seconds, budgetSeconds };
}

/**
 * Kinds of tests in one run: each has the time of all.
 * @param {JestGroup[]} groups
 * @returns {Promise<Result[]>}
 */
async function runJestGroups(groups) {
  const begin = performance.now();
  /** @type {Partial<Record<JestGroup['name'], Counts>>} */
  let counts = {};
  try {
    counts = await runTests(groups.map(({ name }) => name));
  } catch (error) {
    console.error(`✖ tests: ${error instanceof UserError ? error.message : String(Object(error).stack ?? error)}`);
  }
  const seconds = (performance.now() - begin) / 1000;
  return groups.map(({ name, budgetSeconds }) => {
    const counted = counts[name] ?? { passed: 0, failed: 1, skipped: 0, names: ['jest broke off'] };
    console.log(`${counted.failed === 0 ? '✔' : '✖'} ${name} (${seconds.toFixed(1)} s)`);
    return { ...counted, name, seconds, budgetSeconds };
  });
}

/**
 * @param {Result[]} results
 * @param {number} seconds
 */
function printTimes(results, seconds) {
  console.log('\ngroup          passed failed skipped  seconds  budget');
  for (const { name, passed, failed, skipped, seconds, budgetSeconds } of results) {
    const cells = [passed, failed].map((count) => String(count).padStart(7)).join('');
    const over = seconds > budgetSeconds ? '  over budget' : '';
    console.log(
      `${name.padEnd(14)}${cells}${String(skipped).padStart(8)}${seconds.toFixed(1).padStart(9)}` +
        `${String(budgetSeconds).padStart(8)}${over}`,
    );
  }
  console.log(`All of it: ${seconds.toFixed(0)} s (unit and integration tests run together).\n`);
}

/**
 * Once more at the end: of an output of thousands of lines often only this is kept.
 * @param {Result[]} results
 */
function printFailed(results) {
  const failed = results.flatMap(({ name, names = [] }) => names.map((each) => `✖ ${name}: ${each}`));
  if (failed.length > 0) console.log(`${failed.join('\n')}\n`);
}
