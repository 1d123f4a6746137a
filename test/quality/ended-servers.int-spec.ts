// Promise: a fault run that is broken off leaves none of the servers behind that it has started, and ends no other.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { until } from '../../libs/runtime/src/testing/until.js';
import { startOwnServer } from '../../libs/database/src/testing/index.js';
import { commandOf } from '../../scripts/lib/processes.mjs';

const LIB = path.resolve(import.meta.dirname, '../../scripts/lib');
const moduleOf = (name: string): string => JSON.stringify(pathToFileURL(path.join(LIB, name)).href);
/** As a case with a standby does: a server that was killed and started again beside another one. */
const RUN = `
  const { startTestServer } = await import(${moduleOf('test-server.mjs')});
  const { endServersWithUs } = await import(${moduleOf('postgres-cluster.mjs')});
  endServersWithUs();
  const servers = [await startTestServer(), await startTestServer()];
  await servers[0].kill();
  await servers[0].restart();
  for (const { clusterDir } of servers) console.log('cluster ' + clusterDir);
  setInterval(() => undefined, 1_000);`;

const pidIn = (clusterDir: string): number =>
  Number(readFileSync(path.join(clusterDir, 'postmaster.pid'), 'utf8').split('\n')[0]);

test('SIGTERM', async () => {
  const other = await startOwnServer();
  const run = spawn(process.execPath, ['--input-type=module', '-e', RUN], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  run.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
  const ended = new Promise((resolve) => run.once('close', resolve));
  const clusters = (): string[] => [...said.matchAll(/cluster (.+)/g)].map(([, folder = '']) => folder);
  try {
    await until('both servers run', clusters, ({ length }) => length === 2);
    const pids = clusters().map(pidIn);
    expect(pids.map(commandOf)).toEqual([expect.stringContaining('postgres'), expect.stringContaining('postgres')]);
    run.kill('SIGTERM');
    expect(await ended).toBe(143);
    expect(pids.map(commandOf)).toEqual(['', '']);
    expect(commandOf(pidIn(other.clusterDir))).toContain('postgres');
  } finally {
    run.kill('SIGKILL');
    // Folders of a process that has ended, and what still runs in them, are taken away by the next run.
    await other.remove();
  }
});
