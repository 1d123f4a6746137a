import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

import { build, isBuilt } from './build.mjs';
import { findLockGaps, LOCK_FILES } from './complete-lock.mjs';
import { generate, isGenerated } from './generate.mjs';
import { runJest } from './jest-run.mjs';
import { ltsNode } from './lts-node.mjs';
import { ROOT } from './paths.mjs';
import { run } from './run.mjs';
import { findSchemaChanges } from './schema-changes.mjs';
import { releaseTestServer, useTestServer } from './shared-test-server.mjs';
import { startTestServer } from './test-server.mjs';
import { UserError } from './user-error.mjs';

/** @typedef {import('./test-run.mjs').Counts} Counts */
/** @typedef {{ what: string, check: () => Promise<void> }} Check throws when it fails */

const bin = (/** @type {string} */ file) => path.join(ROOT, 'node_modules', file);
/** The compiler in Go, two fifths of the processor time. What is linted stays with TypeScript 6 (docs/dependencies.md). */
const TSC = bin('typescript-native/bin/tsc');
/**
 * @typedef {{ name: string, budgetSeconds: number, lane: 'read' | 'beside' | 'alone', run: () => Promise<Counts>, isNamedOnly?: boolean }} CheckGroup
 *   `isNamedOnly`: for hours and releases, not for each change
 */
/** @typedef {{ name: import('./jest-run.mjs').Project, budgetSeconds: number, lane: 'jest', isNamedOnly?: false }} JestGroup */

/**
 * Many files wait: for a settle time, for a provider, for a commit. With three for each processor none was done sooner (21 files: 123 s, and
 * 119 s with two), and each waited longer for its turn; a third begins only where there is time to spare (native-jest/spare-time.mjs).
 */
const WORKERS = [`--maxWorkers=${2 * os.availableParallelism()}`];
/**
 * Each starts a whole system, some several, and what waits for a slow one asks it again and again: five files took 463 s of the clock and 650 s
 * of processor time two at a time, 446 and 790 three at a time. A third begins where there is time to spare.
 */
const WORKERS_OF_SYSTEMS = ['--maxWorkers=2'];

/**
 * `lane`: groups that only read run in two rows beside each other, those of `jest` in one run; the rest runs alone.
 * @type {(CheckGroup | JestGroup)[]}
 */
export const GROUPS = [
  checks('types', 60, 'read', [
    { what: 'the database client is generated', check: ensureGenerated },
    command('programs and tests', TSC, ['--noEmit', '--pretty', 'false']),
    command('the benches without the types of Jest', TSC, [
      '-p',
      'tsconfig.bench.json',
      '--noEmit',
      '--pretty',
      'false',
    ]),
    command('the SDK without the types of Node.js', TSC, ['-p', 'tsconfig.sdk.json', '--noEmit', '--pretty', 'false']),
    command('the console', TSC, ['-p', 'apps/console', '--pretty', 'false']),
    command('the example in Node.js', TSC, ['-p', 'examples/node', '--pretty', 'false']),
    command('tools', TSC, ['-p', 'scripts/tsconfig.json', '--pretty', 'false']),
  ]),
  checks('format', 30, 'read', [command('formatting', bin('oxfmt/bin/oxfmt'), ['--check', '.'])]),
  checks('boundaries', 30, 'read', [
    command('who imports whom', bin('dependency-cruiser/bin/dependency-cruise.mjs'), [
      ...['apps', 'libs', 'test', 'bench'].filter((folder) => fs.existsSync(path.join(ROOT, folder))),
      ...['--config', '.dependency-cruiser.cjs', '--output-type', 'err'],
    ]),
  ]),
  checks('lint', 120, 'beside', [
    command('the words that are not written here', path.join(ROOT, 'scripts', 'language.mjs'), []),
    command('lint', bin('eslint/bin/eslint.js'), ['.', '--max-warnings', '0']),
    { what: 'the database client is generated', check: ensureGenerated },
    command('lint with types', bin('oxlint/bin/oxlint'), []),
  ]),
  checks('drift', 60, 'beside', [
    { what: 'the database client is generated', check: ensureGenerated },
    { what: 'the migrations lead to the schema', check: assertNoSchemaDrift },
    { what: 'the lock file serves every platform', check: assertLockIsComplete },
    command('the description of the API is that of the code, and safe', path.join(ROOT, 'scripts', 'openapi.mjs'), [
      '--check',
    ]),
    command('every problem code has its advice', path.join(ROOT, 'scripts', 'docs-errors.mjs'), ['--check']),
  ]),
  checks('build', 60, 'alone', [{ what: 'the programs compile', check: ensureBuilt }]),
  { name: 'unit', budgetSeconds: 60, lane: 'jest' },
  { name: 'integration', budgetSeconds: 400, lane: 'jest' },
  wholeSystems('system', 450),
  { name: 'lts', budgetSeconds: 120, lane: 'alone', run: onLongTermRelease },
  { ...wholeSystems('long', 900), isNamedOnly: true },
];

/**
 * @template {import('./jest-run.mjs').Project} Name
 * @param {Name[]} names
 * @returns {Promise<Record<Name, Counts>>}
 */
export async function runTests(names) {
  await ensureGenerated();
  const isUnit = names.every((name) => name === 'unit');
  return isUnit ? runJest(names, WORKERS) : withDatabase(() => runJest(names, WORKERS));
}

/** Whole programs that are started, sell, and are stopped. */
const SMOKE = ['test/system/receipts.e2e-spec.ts', 'test/register/start.e2e-spec.ts'];

/** Six more of the simulation: its usual 24 have run on the other release by then. */
const OTHER_SEEDS = '25-30';

/**
 * The unit tests and a few whole systems on the newest long-term release of Node.js; elsewhere than under CI one skipped check,
 * unless it was asked for by its name.
 * @returns {Promise<Counts>}
 */
async function onLongTermRelease() {
  const isWanted = process.env['CI'] === 'true' || process.argv.includes('lts');
  const node = isWanted ? await ltsNode() : null;
  if (node === null) return { passed: 0, failed: 0, skipped: 1 };
  await ensureBuilt();
  const { unit } = await runJest(['unit'], WORKERS, node, { SIMULATION_SEEDS: OTHER_SEEDS });
  const { system } = await withDatabase(() => runJest(['system'], [...WORKERS_OF_SYSTEMS, '--', ...SMOKE], node));
  return {
    passed: unit.passed + system.passed,
    failed: unit.failed + system.failed,
    skipped: unit.skipped + system.skipped,
    names: [unit, system].flatMap(({ names = [] }) => names),
  };
}

/**
 * @param {string} name
 * @param {number} budgetSeconds
 * @param {'read' | 'beside' | 'alone'} lane
 * @param {Check[]} list
 */
function checks(name, budgetSeconds, lane, list) {
  return { name, budgetSeconds, lane, run: () => runChecks(name, list) };
}

/**
 * @param {string} name
 * @param {Check[]} list
 * @returns {Promise<Counts>}
 */
async function runChecks(name, list) {
  const names = [];
  for (const { what, check } of list) {
    try {
      await check();
    } catch (error) {
      names.push(what);
      console.error(`✖ ${name}: ${what}\n${error instanceof UserError ? error.message : String(Object(error).stack)}`);
    }
  }
  return { passed: list.length - names.length, failed: names.length, skipped: 0, names };
}

/**
 * @param {'system' | 'long'} name
 * @param {number} budgetSeconds
 * @returns {CheckGroup}
 */
function wholeSystems(name, budgetSeconds) {
  const run = async () => {
    await ensureBuilt();
    return (await withDatabase(() => runJest([name], WORKERS_OF_SYSTEMS)))[name];
  };
  return { name, budgetSeconds, lane: 'alone', run };
}

/**
 * @param {string} what
 * @param {string} script
 * @param {string[]} args
 * @returns {Check}
 */
function command(what, script, args) {
  const check = async () => {
    const { code, output } = await run(process.execPath, [script, ...args]);
    if (code !== 0) throw new UserError(output.trimEnd());
  };
  return { what, check };
}

/** @type {Promise<void> | undefined} */
let generating;

/** Each group may be run alone, in a fresh clone. */
function ensureGenerated() {
  generating ??= isGenerated() ? Promise.resolve() : generate();
  return generating;
}

async function ensureBuilt() {
  if (!isGenerated()) await generate();
  if (!isBuilt()) await build();
}

async function assertNoSchemaDrift() {
  const server = await startTestServer();
  try {
    const changes = await findSchemaChanges(await server.migratedDatabase());
    if (changes !== null) {
      throw new UserError(
        `prisma/schema.prisma has changes that no migration makes (npm run migration:new):\n${changes}`,
      );
    }
  } finally {
    await server.stop();
  }
}

async function assertLockIsComplete() {
  const gaps = LOCK_FILES.flatMap((file) => findLockGaps(file));
  if (gaps.length === 0) return;
  throw new UserError(`package-lock.json lacks ${gaps.map(({ name }) => name).join(', ')}: run npm run lock:complete`);
}

/**
 * @template Result
 * @param {() => Promise<Result>} work
 */
async function withDatabase(work) {
  await useTestServer();
  try {
    return await work();
  } finally {
    await releaseTestServer();
  }
}
