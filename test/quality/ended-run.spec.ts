// Promise: a run of checks that is asked to end ends what it has started, tidies up after itself, and says by its code that it did not finish.
import { spawn } from 'node:child_process';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { commandOf, waitUntil } from '../../scripts/lib/processes.mjs';

const RUN = pathToFileURL(path.resolve(import.meta.dirname, '../../scripts/lib/run.mjs')).href;
const FOR_EVER = 'setInterval(() => undefined, 1_000);';
const DEAF = `process.on('SIGTERM', () => undefined); process.on('SIGINT', () => undefined);`;
/** What a run is to jest, jest to the processes of its test files, and these to the systems that they start. */
const startsAnother = (own: string, others: string): string => `
  ${own}
  const code = ${JSON.stringify(others)} + 'process.send(0);' + ${JSON.stringify(FOR_EVER)};
  const stdio = ['ignore', 'ignore', 'ignore', 'ipc'];
  const other = require('node:child_process').spawn(process.execPath, ['-e', code], { stdio });
  other.once('message', () => {
    other.disconnect();
    other.unref();
    process.stderr.write('pid ' + process.pid + '\\npid ' + other.pid + '\\n');
  });
  ${FOR_EVER}`;
const harnessOf = (code: string): string => `
  const { endCommandsWithUs, run } = await import(${JSON.stringify(RUN)});
  endCommandsWithUs();
  const start = () => run(process.execPath, ['-e', ${JSON.stringify(code)}], { show: true });
  try {
    await start().catch((error) => console.log('rejected: ' + error.message));
    await start().catch((error) => console.log('not begun: ' + error.message));
  } finally {
    console.log('tidied up');
  }
  process.exitCode = 1;`;

interface Run {
  signal: (signal: NodeJS.Signals) => void;
  ended: Promise<unknown>;
  said: () => string;
  left: () => string[];
}

async function withRun(code: string, use: (run: Run) => Promise<void>): Promise<void> {
  const harness = spawn(process.execPath, ['--input-type=module', '-e', harnessOf(code)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  harness.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
  const pids = (): number[] => [...said.matchAll(/pid (\d+)/g)].map(([, pid]) => Number(pid));
  const ended = new Promise((resolve) => harness.once('close', resolve));
  try {
    expect(await waitUntil(() => pids().length >= 2, 20_000)).toBe(true);
    await use({
      signal: (signal) => harness.kill(signal),
      ended,
      said: () => said,
      left: () => pids().map((pid) => commandOf(pid)),
    });
  } finally {
    for (const pid of pids().filter((each) => commandOf(each) !== '')) process.kill(pid, 'SIGKILL');
    harness.kill('SIGKILL');
  }
}

const allGone = (run: Run): Promise<boolean> => waitUntil(() => run.left().every((command) => command === ''), 5_000);

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s',
  (signal) =>
    withRun(startsAnother('', ''), async (run) => {
      run.signal(signal);
      expect(await run.ended).toBe(signal === 'SIGTERM' ? 143 : 130);
      expect(run.left()).toEqual(['', '']);
      expect(run.said()).toContain('rejected: ');
      expect(run.said()).toContain('not begun: ');
      expect(run.said()).toContain('tidied up');
    }),
  40_000,
);

test(
  'what a command has left that does not hear SIGTERM is gone with the run',
  () =>
    withRun(startsAnother('', DEAF), async (run) => {
      run.signal('SIGTERM');
      expect(await run.ended).toBe(143);
      expect(await allGone(run)).toBe(true);
    }),
  40_000,
);

test.each(['SIGINT', 'SIGTERM'] as const)(
  'SIGINT and then %s: at once, and with all that does not hear the first',
  (second) =>
    withRun(startsAnother(DEAF, DEAF), async (run) => {
      run.signal('SIGINT');
      await new Promise((resolve) => setTimeout(resolve, 500));
      run.signal(second);
      const begun = performance.now();
      expect(await run.ended).toBe(130);
      expect(performance.now() - begun).toBeLessThan(5_000);
      expect(await allGone(run)).toBe(true);
    }),
  40_000,
);

test(
  'what a command has started that fails is gone with it',
  () =>
    withRun(startsAnother('setInterval(() => other.connected || process.exit(1), 50);', DEAF), async (run) => {
      expect(await run.ended).toBe(1);
      expect(await allGone(run)).toBe(true);
    }),
  40_000,
);
