// Promise: a program stops once on the first signal, in bounded time, with an exit code that shows how it went.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, writeFileSync, mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { transformSync } from '@swc/core';

const folder = mkdtempSync(join(import.meta.dirname, '.shutdown-'));
const source = readFileSync(join(import.meta.dirname, 'shutdown.ts'), 'utf8');
const { code } = transformSync(source, {
  jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
  module: { type: 'es6' },
});
writeFileSync(join(folder, 'shutdown.mjs'), code);
afterAll(() => rmSync(folder, { recursive: true }));

async function run(
  stop: string,
  signals: NodeJS.Signals[],
  timeoutMs = 20_000,
): Promise<{ exitCode: number | null; output: string }> {
  const script = `import { stopOnSignals } from './shutdown.mjs';
    const log = (x, y) => console.log(y ?? x);
    stopOnSignals({ logger: { info: log, error: log }, timeoutMs: ${timeoutMs}, stop: ${stop} });
    setInterval(() => {}, 1000); console.log('up');`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { cwd: folder });
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  const up = new Promise<void>((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
      if (output.includes('up')) resolve();
    });
  });
  await up;
  for (const signal of signals) child.kill(signal);
  const [exitCode] = (await once(child, 'exit')) as [number | null];
  return { exitCode, output };
}

test('stops once, although the signal comes twice', async () => {
  const stop = `() => { console.log('STOP'); return new Promise((r) => setTimeout(r, 100)); }`;
  const { exitCode, output } = await run(stop, ['SIGTERM', 'SIGINT']);
  expect(exitCode).toBe(0);
  expect(output.match(/STOP/g)).toHaveLength(1);
});

test('leaves in bounded time when stopping hangs', async () => {
  const { exitCode, output } = await run('() => new Promise(() => {})', ['SIGTERM'], 500);
  expect([exitCode, output]).toEqual([1, expect.stringContaining('did not stop in time')]);
});

test('says so when stopping fails', async () => {
  const { exitCode, output } = await run(`() => Promise.reject(new Error('x'))`, ['SIGINT']);
  expect([exitCode, output]).toEqual([1, expect.stringContaining('stopping failed')]);
});
