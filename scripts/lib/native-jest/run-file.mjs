import { pathToFileURL } from 'node:url';
import { getState, resetState, run } from 'jest-circus';

import { GLOBALS } from './globals.mjs';
import { leftovers, shared, surroundings } from './leftovers.mjs';

/**
 * Runs test files in this process, one after the other, until its parent (runner.mjs) closes the channel. The parent is sent what
 * jest-circus says of each test.
 *
 * @typedef {{ file: string, testTimeout: number, testNamePattern: string | null }} Order
 */

/** Rejections that no code has taken yet. @type {Map<Promise<unknown>, unknown>} */
const rejected = new Map();

Object.assign(globalThis, GLOBALS);
process.on('uncaughtException', (error) => getState().unhandledErrors.push(error));
process.on('unhandledRejection', (reason, promise) => rejected.set(promise, reason));
process.on('rejectionHandled', (promise) => rejected.delete(promise));
// Whatever a file has left open ends here.
process.once('disconnect', () => process.exit(0));
process.on('message', (message) => {
  void runFile(/** @type {Order} */ (message))
    .catch((error) => ({ kind: 'broken', error: stackOf(error) }))
    .then((outcome) => process.send?.(outcome));
});

/** Node.js has its own HTTP client, with a global, only once something has used it: not the first file that does. */
const withGlobals = fetch('data:,');

/** @param {Order} order */
async function runFile({ file, testTimeout, testNamePattern }) {
  await withGlobals;
  const before = surroundings();
  resetState();
  rejected.clear();
  GLOBALS.jest.restoreAllMocks();
  GLOBALS.jest.setTimeout(testTimeout);
  if (testNamePattern !== null) getState().testNamePattern = new RegExp(testNamePattern, 'i');
  const beganMs = performance.now();
  await import(pathToFileURL(file).href);
  const loadMs = performance.now() - beganMs;
  const read = shared();
  const { testResults, unhandledErrors } = await run();
  const isGreen = unhandledErrors.length === 0 && testResults.every(({ errors }) => errors.length === 0);
  // What a test that failed has left half done is not known.
  const left = isGreen ? await leftovers(before, read) : ['a failure'];
  return {
    kind: 'run',
    testResults,
    unhandledErrors: [...unhandledErrors, ...[...rejected.values()].map(stackOf)],
    loadMs,
    left: rejected.size === 0 ? left : [...left, 'a rejected promise'],
  };
}

/** @param {unknown} error */
function stackOf(error) {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
