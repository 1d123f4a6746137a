import type { ChildProcess } from 'node:child_process';
import { spawn, spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { Redis } from 'ioredis';
import { freePorts } from '../../../runtime/src/testing/free-ports.js';

/** Both take the same options and speak the same protocol. */
export type RedisProgram = 'redis-server' | 'valkey-server';

/** Whether it can be tested on this machine; in CI a missing one is a failure, not a skip. */
export function redisIsInstalled(program: RedisProgram = 'redis-server'): boolean {
  return spawnSync(program, ['--version']).status === 0;
}

/** A server of the test's own: loopback, a port of its own, nothing on disk. */
export class OwnRedis {
  private process: ChildProcess | null = null;

  private constructor(
    readonly port: number,
    private readonly program: RedisProgram,
  ) {}

  static async reserve(program: RedisProgram = 'redis-server'): Promise<OwnRedis> {
    return new OwnRedis(await freePorts(1), program);
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const options = ['--save', '', '--appendonly', 'no', '--bind', '127.0.0.1', '--maxmemory-policy', 'noeviction'];
    this.process = spawn(this.program, ['--port', String(this.port), '--dir', tmpdir(), ...options], {
      stdio: 'ignore',
    });
    const client = new Redis(this.url, { maxRetriesPerRequest: null, retryStrategy: () => 50 });
    client.on('error', () => undefined); // not listening yet
    await client.quit();
  }

  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    const running = this.process;
    if (running === null) return;
    this.process = null;
    const ended = new Promise((resolve) => running.once('exit', resolve));
    running.kill(signal);
    await ended;
  }

  suspend(): void {
    this.process?.kill('SIGSTOP');
  }

  resume(): void {
    this.process?.kill('SIGCONT');
  }

  async command<T>(run: (client: Redis) => Promise<T>): Promise<T> {
    const client = new Redis(this.url);
    try {
      return await run(client);
    } finally {
      await client.quit();
    }
  }
}
