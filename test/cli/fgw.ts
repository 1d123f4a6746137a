import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MAIN = join(process.cwd(), 'dist', 'apps', 'cli', 'src', 'main.js');
const TOO_LONG_MS = 120_000;

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** The compiled program, with a configuration of its own. */
export class Fgw {
  readonly folder = mkdtempSync(join(tmpdir(), 'fiscal-fgw-'));
  private readonly running = new Set<ChildProcess>();

  constructor(private readonly env: Record<string, string> = {}) {}

  /** Runs a command to its end. */
  async run(
    args: readonly string[],
    { stdin = '', env = {} }: { stdin?: string; env?: Record<string, string> } = {},
  ): Promise<Finished> {
    const staying = this.start(args, env);
    staying.child.stdin?.end(stdin);
    const timer = setTimeout(() => staying.child.kill('SIGKILL'), TOO_LONG_MS);
    const [code] = (await once(staying.child, 'close')) as [number | null];
    clearTimeout(timer);
    return { code, stdout: staying.stdout(), stderr: staying.stderr() };
  }

  /** Under `--json`, what standard output has. */
  async json<Value = unknown>(
    args: readonly string[],
  ): Promise<{ code: number | null; values: Value[]; stderr: string }> {
    const { code, stdout, stderr } = await this.run([...args, '--json']);
    return { code, values: linesOf<Value>(stdout), stderr };
  }

  /** A command that stays. */
  start(args: readonly string[], env: Record<string, string> = {}): Staying {
    const child = spawn(process.execPath, [MAIN, ...args], {
      cwd: this.folder,
      env: { PATH: process.env['PATH'], HOME: this.folder, ...this.env, ...env },
    });
    this.running.add(child);
    child.once('close', () => this.running.delete(child));
    return new Staying(child);
  }

  async stop(): Promise<void> {
    for (const child of this.running) {
      const gone = once(child, 'close');
      child.kill('SIGKILL');
      await gone;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export class Staying {
  private out = '';
  private err = '';

  constructor(readonly child: ChildProcess) {
    child.stdout?.on('data', (chunk: Buffer) => (this.out += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (this.err += chunk.toString()));
  }

  stdout = (): string => this.out;
  stderr = (): string => this.err;

  /** @returns the exit code, null when the signal ended it */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    if (this.child.exitCode !== null) return this.child.exitCode;
    const gone = once(this.child, 'close');
    this.child.kill(signal);
    const [code] = (await gone) as [number | null];
    return code;
  }
}

export function linesOf<Value>(text: string): Value[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Value);
}
