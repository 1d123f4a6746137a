import fs from 'node:fs';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';

import { ROOT } from './paths.mjs';
import { run } from './run.mjs';
import { UserError } from './user-error.mjs';

/** @typedef {import('./test-run.mjs').Counts} Counts */

/** By the end of a file's name. */
const SUFFIX = {
  unit: '.spec.ts',
  integration: '.int-spec.ts',
  system: '.e2e-spec.ts',
  long: '.long-spec.ts',
  pictures: '.pictures.ts',
};

/** @typedef {keyof typeof SUFFIX} Project */

/**
 * Runs the files of these kinds in one run of jest, so that no processor waits for the end of one kind, and counts from its own
 * report.
 * @template {Project} Name
 * @param {readonly Name[]} projects
 * @param {string[]} flags
 * @param {string} node
 * @param {Record<string, string>} env
 * @returns {Promise<Record<Name, Counts>>}
 */
export async function runJest(projects, flags, node = process.execPath, env = {}) {
  const name = `${projects.join('-')}${node === process.execPath ? '' : '-lts'}`;
  const report = path.join(ROOT, '.artifacts', `jest-${name}.json`);
  fs.mkdirSync(path.dirname(report), { recursive: true });
  fs.rmSync(report, { force: true });
  const jest = path.join(ROOT, 'node_modules', 'jest', 'bin', 'jest.js');
  await run(node, [jest, '--json', `--outputFile=${report}`, '--selectProjects', ...projects, ...flags], {
    show: true,
    dropStdout: true,
    env: { ...process.env, NODE_OPTIONS: jestNodeOptions(), ...env },
  });
  if (!fs.existsSync(report)) throw new UserError('jest ended without a report.');
  const { testResults } = /** @type {{ testResults: FileResult[] }} */ (JSON.parse(fs.readFileSync(report, 'utf8')));
  const counts = projects.map((project) => [project, countsOf(testResults, SUFFIX[project])]);
  return /** @type {Record<Name, Counts>} */ (Object.fromEntries(counts));
}

/** @typedef {{ status: string, fullName: string, failureMessages: string[] }} TestResult */
/** @typedef {{ name: string, status: string, message: string, assertionResults: TestResult[] }} FileResult */

const REASON_LINES = 12;

/**
 * @param {FileResult[]} files
 * @param {string} suffix
 * @returns {Counts}
 */
function countsOf(files, suffix) {
  // A file without tests of this kind is a mistake in its name, as is a kind without files.
  const ofKind = files.filter(({ name }) => name.endsWith(suffix));
  const tests = ofKind.flatMap(({ assertionResults }) => assertionResults);
  const count = (/** @type {string} */ status) => tests.filter((test) => test.status === status).length;
  // A file that cannot even be loaded, or that fails beside its tests, has nothing to count: it is one failure.
  const broken = ofKind.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.every((test) => test.status !== 'failed'),
  );
  if (tests.length === 0 && broken.length === 0) throw new UserError(`jest found no tests in *${suffix}.`);
  return {
    passed: count('passed'),
    failed: count('failed') + broken.length,
    skipped: count('pending') + count('skipped') + count('todo'),
    names: [
      ...ofKind.flatMap(failedOf),
      ...broken.map(({ name, message }) => `${path.relative(ROOT, name)} as a whole${reasonOf(message)}`),
    ],
  };
}

/** @param {FileResult} file */
function failedOf({ name, assertionResults }) {
  const failed = assertionResults.filter(({ status }) => status === 'failed');
  return failed.map(
    ({ fullName, failureMessages: [first = ''] }) => `${path.relative(ROOT, name)} › ${fullName}${reasonOf(first)}`,
  );
}

/**
 * What was expected and what came, below the name, without colours and stack.
 * @param {string} message
 */
function reasonOf(message) {
  const lines = stripVTControlCharacters(message)
    .split('\n')
    .filter((line) => line.trim() !== '' && !/^\s+at /.test(line));
  return lines
    .slice(0, REASON_LINES)
    .map((line) => `\n    ${line}`)
    .join('');
}

/** ES modules in Jest's own runner stand behind a flag of Node.js. */
function jestNodeOptions() {
  return [process.env['NODE_OPTIONS'], '--experimental-vm-modules', '--disable-warning=ExperimentalWarning']
    .filter(Boolean)
    .join(' ');
}
