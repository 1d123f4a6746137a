import fs from 'node:fs';
import path from 'node:path';

import { ROOT } from './paths.mjs';
import { run } from './run.mjs';
import { UserError } from './user-error.mjs';

/**
 * Runs one jest project and counts from its own report.
 * @param {string} project
 * @param {string[]} flags
 * @param {string} node
 * @returns {Promise<import('./test-run.mjs').Counts>}
 */
export async function runJest(project, flags, node = process.execPath) {
  const report = path.join(ROOT, '.artifacts', `jest-${project}${node === process.execPath ? '' : '-lts'}.json`);
  fs.mkdirSync(path.dirname(report), { recursive: true });
  fs.rmSync(report, { force: true });
  const jest = path.join(ROOT, 'node_modules', 'jest', 'bin', 'jest.js');
  await run(node, [jest, '--selectProjects', project, '--json', `--outputFile=${report}`, ...flags], {
    show: true,
    dropStdout: true,
    env: { ...process.env, NODE_OPTIONS: jestNodeOptions() },
  });
  if (!fs.existsSync(report)) throw new UserError('jest ended without a report.');
  const result = JSON.parse(fs.readFileSync(report, 'utf8'));
  // A file that cannot even be loaded has no tests to count: it is one failure.
  const failed = result.numFailedTests + result.numRuntimeErrorTestSuites;
  if (result.numTotalTests === 0 && failed === 0) throw new UserError(`jest found no ${project} tests.`);
  return { passed: result.numPassedTests, failed, skipped: result.numPendingTests + result.numTodoTests };
}

/** ES modules in jest stand behind a flag of Node.js. */
function jestNodeOptions() {
  return [process.env['NODE_OPTIONS'], '--experimental-vm-modules', '--disable-warning=ExperimentalWarning']
    .filter(Boolean)
    .join(' ');
}
