import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const ROOT = join(import.meta.dirname, '..', '..');

/** `npm start`, as a newcomer runs it, in a folder and on ports of its own. */
export class StartedSystem {
  private output = '';
  private readonly child: ChildProcess;

  constructor(
    readonly dataDir: string,
    readonly env: Record<string, string>,
    script = ['scripts/start.mjs'],
    program = process.execPath,
  ) {
    this.child = spawn(program, script, {
      cwd: ROOT,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], DATA_DIR: dataDir, ...env },
    });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    }
  }

  get said(): string {
    return this.output;
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  async says(text: string, timeoutMs = 120_000): Promise<void> {
    const deadline = Date.now() + timeoutMs;
    while (!this.output.includes(text)) {
      if (this.child.exitCode !== null || this.child.signalCode !== null || Date.now() > deadline) {
        throw new Error(`Waited in vain for "${text}". It said:\n${this.output}`);
      }
      await delay(50);
    }
  }

  /** The commands it printed for copying, as one shell script. */
  get printedCommands(): string {
    return this.output
      .split('\n')
      .filter((line) => /^(TOKEN=|curl )/.test(line))
      .join('\n');
  }

  /** @returns the exit code, null when a signal ended it */
  async ends(signal?: NodeJS.Signals): Promise<number | null> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return this.child.exitCode;
    const gone = once(this.child, 'close');
    if (signal) this.child.kill(signal);
    const [code] = (await gone) as [number | null];
    return code;
  }
}

/** Process numbers of everything that works for a data folder: by its arguments, by its environment (Linux). */
export function processesOf(dataDir: string, pids: readonly number[]): number[] {
  const places = [dataDir, ...clusterFolders(dataDir)];
  return pids.filter((pid) => {
    try {
      const read = (file: string): string => readFileSync(`/proc/${pid}/${file}`, 'utf8');
      const said = `${read('cmdline')} ${read('environ')}`;
      return read('cmdline') !== '' && places.some((place) => said.includes(place));
    } catch {
      // Ended while we read it.
      return false;
    }
  });
}

/** Started by root, PostgreSQL works in a folder of its own account, which postgres.json names. */
function clusterFolders(dataDir: string): string[] {
  const file = join(dataDir, 'postgres.json');
  if (!existsSync(file)) return [];
  const { cluster_dir: folder } = JSON.parse(readFileSync(file, 'utf8')) as { cluster_dir?: string };
  return folder === undefined ? [] : [folder];
}
