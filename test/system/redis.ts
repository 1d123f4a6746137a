import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';

/** A redis-server of the test's own, from PATH. */
export interface TestRedis {
  url: string;
  pid: number | null;
  stop(): Promise<void>;
}

export async function startRedis(): Promise<TestRedis> {
  const port = await freePorts(1);
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const child = spawn('redis-server', args, { stdio: 'ignore' });
  await answers(port, child);
  return {
    url: `redis://127.0.0.1:${port}`,
    pid: child.pid ?? null,
    stop: async () => {
      if (child.exitCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGTERM');
      await gone;
    },
  };
}

async function answers(port: number, child: ChildProcess): Promise<void> {
  const failed = once(child, 'error').then(([error]) =>
    Promise.reject(error instanceof Error ? error : new Error(String(error))),
  );
  for (let tries = 0; tries < 100; tries += 1) {
    const redis = new Redis({ port, host: '127.0.0.1', lazyConnect: true, retryStrategy: () => null });
    redis.on('error', () => undefined);
    const pong = await Promise.race([redis.connect().then(() => redis.ping()), failed]).catch(
      (error: unknown) => error,
    );
    redis.disconnect();
    if (pong === 'PONG') return;
    if (pong instanceof Error && 'code' in pong && pong.code === 'ENOENT') throw pong;
    await delay(50);
  }
  throw new Error('redis-server does not answer');
}
