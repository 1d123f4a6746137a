import { fork } from 'node:child_process';
import path from 'node:path';

import { ROOT } from '../paths.mjs';
import { spareTime } from './spare-time.mjs';

/**
 * Runs test files natively, in processes of Node.js, each of which runs one after another as long as they leave nothing behind. Jest's own
 * runner loads every module of every file anew through its registry, in a context of its own: three to four seconds of processor time for a
 * file that starts the gateway (docs/adr/0076-test-files-run-natively.md). Which files run, in which order, and the report stay Jest's.
 *
 * @typedef {import('node:child_process').ChildProcess} ChildProcess
 * @typedef {import('@jest/test-result').TestResult} TestResult
 * @typedef {import('@jest/test-result').Test} Test
 * @typedef {{ duration?: number | null, errors: string[], invocations: number, status: string, testPath: string[],
 *   numPassingAsserts: number, startedAt?: number | null }} Single
 * @typedef {{ kind: 'run', testResults: Single[], unhandledErrors: string[], loadMs: number, left: string[] }
 *   | { kind: 'broken', error: string }} Outcome
 */

/** Real parts on a busy machine: a test fails by its own deadline, not by the clock of another. */
const TEST_TIMEOUT_MS = 360_000;
const RUN_FILE = new URL('./run-file.mjs', import.meta.url);
const EXEC_ARGV = [
  '--conditions=source',
  '--enable-source-maps',
  '--no-warnings',
  ...['--import', new URL('./register.mjs', import.meta.url).href],
];

// eslint-disable-next-line no-restricted-syntax -- the shape is Jest's
export default class NativeRunner {
  /** @param {{ maxWorkers: number, testNamePattern?: string }} globalConfig */
  constructor(globalConfig) {
    this.globalConfig = globalConfig;
    this.supportsEventEmitters = false;
  }

  /**
   * @param {Test[]} tests in the order of the sequencer
   * @param {{ isInterrupted: () => boolean }} watcher
   * @param {(test: Test) => Promise<void>} onStart
   * @param {(test: Test, result: TestResult) => Promise<void>} onResult
   * @param {(test: Test, error: { message: string, stack?: string }) => Promise<void>} onFailure
   */
  // eslint-disable-next-line no-restricted-syntax -- the shape is Jest's
  async runTests(tests, watcher, onStart, onResult, onFailure) {
    const waiting = [...tests];
    /** @type {string[]} */
    const littering = [];
    const isOver = () => waiting.length === 0 || watcher.isInterrupted();
    const inTurn = async (/** @type {boolean} */ isExtra) => {
      /** @type {ChildProcess | null} */
      let clean = null;
      while (!isOver()) {
        if (isExtra && !(await spareTime(isOver))) break;
        const test = waiting.shift();
        if (test === undefined) break;
        /** @type {ChildProcess} */
        // It may have ended while this row waited for spare time.
        const child = clean?.connected ? clean : start();
        await onStart(test);
        const begin = Date.now();
        const outcome = await this.run(test, child);
        const left = outcome.kind === 'run' ? outcome.left : ['its process'];
        if (left.length > 0) littering.push(`  ${path.relative(ROOT, test.path)}: ${left.join(', ')}`);
        clean = child.connected && left.length === 0 ? child : null;
        if (clean === null && child.connected) child.disconnect();
        if (outcome.kind === 'broken') await onFailure(test, { message: outcome.error, stack: outcome.error });
        else await onResult(test, resultOf(test, outcome, begin));
      }
      if (clean?.connected) clean.disconnect();
    };
    const { maxWorkers } = this.globalConfig;
    const rows = Array.from({ length: maxWorkers }, () => inTurn(false));
    // Where files are to run one by one, they do.
    const extra = maxWorkers > 1 ? Array.from({ length: Math.ceil(maxWorkers / 2) }, () => inTurn(true)) : [];
    await Promise.all([...rows, ...extra]);
    // They are right to do so, but the next file had to read all modules anew.
    if (littering.length > 0) console.error(['Left something behind:', ...littering.sort()].join('\n'));
  }

  /**
   * @param {Test} test
   * @param {ChildProcess} child
   * @returns {Promise<Outcome>}
   */
  run(test, child) {
    const { testNamePattern = '' } = this.globalConfig;
    return new Promise((resolve) => {
      const onMessage = (/** @type {unknown} */ outcome) => end(/** @type {Outcome} */ (outcome));
      const onError = (/** @type {Error} */ error) => end({ kind: 'broken', error: String(error.stack) });
      const onExit = (/** @type {number | null} */ code, /** @type {string | null} */ signal) =>
        end({ kind: 'broken', error: `its process ended before its tests: ${signal ?? `code ${code}`}` });
      const end = (/** @type {Outcome} */ outcome) => {
        child.off('message', onMessage).off('error', onError).off('exit', onExit);
        resolve(outcome);
      };
      child.once('message', onMessage).once('error', onError).once('exit', onExit);
      child.send({
        file: test.path,
        testTimeout: TEST_TIMEOUT_MS,
        testNamePattern: testNamePattern === '' ? null : testNamePattern,
      });
    });
  }
}

function start() {
  const child = fork(RUN_FILE, [], {
    execArgv: EXEC_ARGV,
    env: { ...process.env, NODE_ENV: 'test', NODE_OPTIONS: '' },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    serialization: 'advanced',
  });
  // Noted where a file waits for it (run); after its last file it means nothing.
  child.on('error', () => undefined);
  return child;
}

/** @type {Readonly<Record<string, 'pending' | 'todo' | 'passed'>>} */
const STATUS = { skip: 'pending', todo: 'todo', done: 'passed' };

/**
 * @param {Test} test
 * @param {Extract<Outcome, { kind: 'run' }>} outcome
 * @param {number} begin
 * @returns {TestResult}
 */
function resultOf(test, { testResults, unhandledErrors, loadMs }, begin) {
  const results = testResults.map((single) => {
    const [, ...titles] = single.testPath;
    return {
      ancestorTitles: titles.slice(0, -1),
      title: titles.at(-1) ?? '',
      fullName: titles.join(' '),
      status: single.errors.length > 0 ? /** @type {const} */ ('failed') : (STATUS[single.status] ?? 'passed'),
      failureMessages: single.errors,
      failureDetails: [],
      duration: single.duration ?? null,
      invocations: single.invocations,
      numPassingAsserts: single.numPassingAsserts,
      startAt: single.startedAt ?? null,
      location: null,
    };
  });
  const count = (/** @type {string} */ status) => results.filter((result) => result.status === status).length;
  const end = Date.now();
  const failures = results.flatMap(({ fullName, failureMessages }) =>
    failureMessages.map((message) => `  ● ${fullName}\n\n${message}\n`),
  );
  const text = [...failures, ...unhandledErrors].join('\n');
  return {
    leaks: false,
    numFailingTests: count('failed'),
    numPassingTests: count('passed'),
    numPendingTests: count('pending'),
    numTodoTests: count('todo'),
    openHandles: [],
    perfStats: {
      start: begin,
      end,
      runtime: end - begin,
      slow: false,
      loadTestEnvironmentStart: begin,
      loadTestEnvironmentEnd: begin,
      setupFilesStart: begin,
      setupFilesEnd: Math.round(begin + loadMs),
      setupAfterEnvStart: begin,
      setupAfterEnvEnd: begin,
    },
    skipped: results.length > 0 && count('pending') === results.length,
    snapshot: { added: 0, fileDeleted: false, matched: 0, unchecked: 0, uncheckedKeys: [], unmatched: 0, updated: 0 },
    testFilePath: test.path,
    testResults: results,
    failureMessage: text === '' ? null : text,
    ...(unhandledErrors.length > 0 && {
      testExecError: { message: unhandledErrors.join('\n'), stack: '', code: undefined, type: 'Error' },
    }),
    displayName: test.context.config.displayName,
  };
}
