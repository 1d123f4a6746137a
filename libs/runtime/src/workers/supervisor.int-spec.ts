// Promise: a worker that stands still is replaced, and a program that is stopped while one starts ends well.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until, untilTrue } from '../testing/until.js';

const RUNTIME = join(process.cwd(), 'dist', 'libs', 'runtime', 'src', 'index.js');
const folder = mkdtempSync(join(tmpdir(), 'fiscal-workers-'));
const program = join(folder, 'program.mjs');
const WORKERS = 2;
/** On a busy machine a worker waits for its turn now and then: twelve of these in a row it does not. */
const BEAT_MS = 500;

/** A worker listens, answers its supervisor and stops by itself; those in places that stand in `SLOW` never get that far. */
const SOURCE = `
import { createServer } from 'node:http';
const { answerSupervisor, createLogger, isSupervisor, Metrics, stopOnSignals, superviseWorkers, workerIndex } =
  await import(${JSON.stringify(RUNTIME)});
const logger = createLogger('workers', 'info');
const metrics = new Metrics('workers');
const settings = { STOP_DEADLINE_MS: 500 };
if (isSupervisor(${WORKERS})) {
  await superviseWorkers({ workers: ${WORKERS}, settings, metrics, logger, beatMs: ${BEAT_MS} });
} else if (workerIndex() !== Number(process.env.SLOW)) {
  answerSupervisor(metrics);
  stopOnSignals({ logger, stop: () => Promise.resolve(), timeoutMs: 20_000 });
  createServer().listen(0, '127.0.0.1', () => logger.info('worker ' + workerIndex() + ' listens'));
}
setInterval(() => {}, 1_000);
`;

let child: ChildProcess | undefined;
let said = '';

beforeAll(() => writeFileSync(program, SOURCE));
afterEach(() => {
  child?.kill('SIGKILL');
  said = '';
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Until the supervisor and the worker in the first place are up. */
async function startProgram(env: NodeJS.ProcessEnv = {}): Promise<ChildProcess> {
  const started = spawn(process.execPath, [program], { env: { ...process.env, ...env } });
  child = started;
  for (const stream of [started.stdout, started.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => (said += chunk));
  await untilTrue(() => said.includes('worker 1 listens'), 'the first worker listens');
  return started;
}

function workersOf({ pid }: ChildProcess): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.split(' ').filter(Boolean).map(Number);
}

const isBuilt = existsSync(RUNTIME);

(isBuilt ? test : test.skip)('one that stands still is ended, and another one takes its place', async () => {
  const started = await startProgram();
  await untilTrue(() => said.includes('worker 2 listens'), 'the second worker listens');
  const [victim = 0, other = 0] = workersOf(started);
  process.kill(victim, 'SIGSTOP');
  const now = await until(
    'another one is there',
    () => workersOf(started),
    (pids) => pids.length === WORKERS && !pids.includes(victim),
  );
  expect(now).toContain(other);
  expect(said).toContain('a worker stands still, it is ended');
});

(isBuilt ? test : test.skip)('a program that stops leaves none behind that stands still', async () => {
  const started = await startProgram();
  await untilTrue(() => said.includes('worker 2 listens'), 'the second worker listens');
  const pids = workersOf(started);
  const [victim = 0] = pids;
  process.kill(victim, 'SIGSTOP');
  const ended = once(started, 'exit');
  started.kill('SIGTERM');
  expect(await ended).toEqual([1, null]);
  expect(said).toContain('a worker did not stop in time, it is ended');
  await untilTrue(() => pids.every((pid) => !existsSync(`/proc/${pid}`)), 'none is left');
});

(isBuilt ? test : test.skip)('stopped while a worker has begun nothing yet, it ends well', async () => {
  const started = await startProgram({ SLOW: '2' });
  await untilTrue(() => workersOf(started).length === WORKERS, 'both processes are there');
  const ended = once(started, 'exit');
  started.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
});

(isBuilt ? test : test.skip)('one that starts for long is not taken for one that stands still', async () => {
  const started = await startProgram({ SLOW: '2' });
  const before = await until(
    'both processes are there',
    () => workersOf(started),
    (pids) => pids.length === WORKERS,
  );
  await new Promise((resolve) => setTimeout(resolve, 16 * BEAT_MS));
  expect(workersOf(started)).toEqual(before);
});
