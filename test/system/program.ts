import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { PROGRAM_FLAGS } from '../../scripts/lib/program-flags.mjs';

/** The tests and the benches run in the project's root, from the sources or compiled. */
const ROOT = process.cwd();
const KEPT_OUTPUT = 20_000;
/** How long a program that says nothing is not asked whether it is ready. */
const SILENT_MS = 500;
const PAUSE_MS = 50;

/** A program of ours as its own process, from `dist/`, as production runs it. @param root of a checkout: another release's programs */
export class Program {
  private child: ChildProcess | null = null;
  private output: string[] = [];
  private timesHeard = 0;

  constructor(
    readonly name: string,
    private readonly entry: string,
    private readonly env: Record<string, string>,
    private readonly readyUrl: string,
    private root = ROOT,
  ) {}

  /** From its next start on it is what this checkout has under its name. */
  becomesToday(): void {
    this.root = ROOT;
  }

  async start(): Promise<void> {
    const child = spawn(process.execPath, [...PROGRAM_FLAGS, join(this.root, 'dist', 'apps', this.entry)], {
      cwd: this.root,
      env: { PATH: process.env['PATH'] ?? '', NODE_ENV: 'production', LOG_LEVEL: 'info', ...this.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child = child;
    const keep = (chunk: Buffer): void => {
      this.timesHeard += 1;
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
    const deadline = Date.now() + 120_000;
    while (Date.now() < deadline) {
      const heard = this.timesHeard;
      if (await isOk(this.readyUrl)) return;
      await this.saysMoreThan(heard);
      if (!this.isRunning) throw new Error(`${this.name} ended while starting:\n${this.lastWords}`);
    }
    throw new Error(`${this.name} did not become ready:\n${this.lastWords}`);
  }

  /**
   * Each says so when it is ready. To ask in vain costs milliseconds of processor time, which the programs that start need
   * (docs/adr/0208-waiting-for-a-program.md).
   */
  private async saysMoreThan(heard: number): Promise<void> {
    const end = performance.now() + SILENT_MS;
    do await delay(PAUSE_MS);
    while (this.timesHeard === heard && this.isRunning && performance.now() < end);
  }
}

/** Reads the answer to its end: an unread body keeps the connection, and the request that is given it next waits for ever. */
async function isOk(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false; // not listening yet
  }
}
