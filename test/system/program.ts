import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** The tests and the benches run in the project's root, from the sources or compiled. */
const ROOT = process.cwd();
const KEPT_OUTPUT = 20_000;

/** A program of ours as its own process, from `dist/`, as production runs it. */
export class Program {
  private child: ChildProcess | null = null;
  private output: string[] = [];

  constructor(
    readonly name: string,
    private readonly entry: string,
    private readonly env: Record<string, string>,
    private readonly readyUrl: string,
  ) {}

  async start(): Promise<void> {
    const child = spawn(process.execPath, ['--enable-source-maps', join(ROOT, 'dist', 'apps', this.entry)], {
      cwd: ROOT,
      env: { PATH: process.env['PATH'] ?? '', NODE_ENV: 'production', LOG_LEVEL: 'info', ...this.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child = child;
    const keep = (chunk: Buffer): void => {
      this.output.push(chunk.toString());
      if (this.output.length > KEPT_OUTPUT) this.output = this.output.slice(-KEPT_OUTPUT);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    await this.becomesReady();
  }

  /** All that it said, over all its lives. */
  get said(): string {
    return this.output.join('');
  }

  /** What it said last, for the message of a failed test. */
  get lastWords(): string {
    return this.said.slice(-6_000);
  }

  /** Null while it runs, or when a signal ended it. */
  get exitCode(): number | null {
    return this.child?.exitCode ?? null;
  }

  get pid(): number | null {
    return this.child?.pid ?? null;
  }

  get isRunning(): boolean {
    return this.child !== null && this.child.exitCode === null && this.child.signalCode === null;
  }

  signal(signal: NodeJS.Signals): void {
    this.child?.kill(signal);
  }

  /** Ends this very process and waits for it. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const { child } = this;
    if (!child || !this.isRunning) return;
    const gone = once(child, 'exit');
    child.kill(signal);
    const hard = setTimeout(() => child.kill('SIGKILL'), 15_000);
    await gone;
    clearTimeout(hard);
  }

  private async becomesReady(): Promise<void> {
    const deadline = Date.now() + 90_000;
    while (Date.now() < deadline) {
      if (!this.isRunning) throw new Error(`${this.name} ended while starting:\n${this.lastWords}`);
      if (await isOk(this.readyUrl)) return;
      await delay(50);
    }
    throw new Error(`${this.name} did not become ready:\n${this.lastWords}`);
  }
}

/** Reads the answer to its end: an unread body keeps the connection, and whoever is given it next waits for ever. */
async function isOk(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false; // not listening yet
  }
}

/** Test files that run side by side draw from ranges of their own: what is free now may be the neighbour's a moment later. */
const PORTS_PER_WORKER = 3_000;
const FIRST_PORT = 20_000 + (Number(process.env['JEST_WORKER_ID'] ?? 0) % 4) * PORTS_PER_WORKER;

/** `count` ports in a row that are free now. */
export async function freePorts(count: number): Promise<number> {
  for (let tries = 0; tries < 50; tries += 1) {
    const first = FIRST_PORT + Math.floor(Math.random() * (PORTS_PER_WORKER - count));
    const free = await Promise.all(Array.from({ length: count }, (_, index) => isFree(first + index)));
    if (free.every(Boolean)) return first;
  }
  throw new Error(`found no ${count} free ports in a row`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const listening = new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => resolve(true));
  });
  const free = await listening;
  if (free) await new Promise((resolve) => server.close(resolve));
  return free;
}
