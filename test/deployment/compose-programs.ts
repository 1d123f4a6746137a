import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { interpolate, type ComposeService } from './compose-file.js';

const ROOT = join(import.meta.dirname, '..', '..');

export interface StartedProgram {
  child: ChildProcess;
  output: () => string;
}

export interface ComposeStage {
  services: Record<string, ComposeService>;
  /** What stands in .env. */
  variables: Record<string, string>;
  folder: string;
  /** What the containers' names and fixed ports become on this machine. */
  places: readonly (readonly [string, string])[];
}

/** Commands, settings and health checks of a compose file, run without containers. */
export class ComposePrograms {
  readonly running: ChildProcess[] = [];

  constructor(private readonly stage: ComposeStage) {}

  onThisMachine(text: string): string {
    const { places, variables } = this.stage;
    return places.reduce((result, [from, to]) => result.replaceAll(from, to), interpolate(text, variables));
  }

  environmentOf(name: string): NodeJS.ProcessEnv {
    const dataDir = join(this.stage.folder, name);
    mkdirSync(dataDir, { recursive: true });
    // Each container has 9464 for itself; here the first program would have it.
    const given = Object.entries(this.stage.services[name]?.environment ?? {}).filter(
      ([key]) => key !== 'METRICS_PORT',
    );
    const entries = given.map(([key, value]) => {
      if (key === 'DATA_DIR') return [key, dataDir];
      // A port alone ("8080") becomes the port that its address became.
      if (key.endsWith('_PORT')) return [key, this.onThisMachine(`127.0.0.1:${value}`).split(':')[1]];
      return [key, this.onThisMachine(String(value))];
    });
    // A container has one address, the machine of a test may have several.
    const own = { PATH: process.env['PATH'], RELAY_URL: this.onThisMachine('http://127.0.0.1:8081') };
    return { ...own, ...(Object.fromEntries(entries) as NodeJS.ProcessEnv) };
  }

  run(name: string, extraArgs: string[] = []): StartedProgram {
    const words = [...(this.stage.services[name]?.command ?? []), ...extraArgs];
    const [command = '', ...args] = words.map((word) => this.onThisMachine(word));
    const child = spawn(command, args, { cwd: ROOT, env: this.environmentOf(name) });
    this.running.push(child);
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    return { child, output: () => output };
  }

  /** @returns the exit code of its health check */
  ask(name: string): number | null {
    const words = (this.stage.services[name]?.healthcheck?.test ?? []).map((word) => this.onThisMachine(word));
    const [, command = '', ...args] = words;
    const port = this.stage.places.find(([host]) => host === `${name}:6379`)?.[1].split(':')[1];
    const allArgs = port === undefined ? args : ['-p', port, ...args];
    return spawnSync(command, allArgs, { cwd: ROOT, env: this.environmentOf(name) }).status;
  }

  /** Runs its health check until it says yes. */
  async becomesHealthy(name: string, { child, output }: StartedProgram): Promise<void> {
    for (const deadline = Date.now() + 90_000; Date.now() < deadline && child.exitCode === null;) {
      if (this.ask(name) === 0) return;
      await delay(200);
    }
    throw new Error(`${name} is not healthy:\n${output().slice(-4_000)}`);
  }

  async end(): Promise<void> {
    const living = this.running.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
    await Promise.all(
      living.map((child) => {
        const gone = once(child, 'exit');
        child.kill('SIGTERM');
        return gone;
      }),
    );
  }
}

/** The script that the PostgreSQL image runs on an empty volume, on a server without our roles. */
export async function createOwner(adminUrl: string, password: string): Promise<void> {
  const script = readFileSync(join(ROOT, 'docker', 'create-owner.sh'), 'utf8');
  const statements = /<<'SQL'\n([\s\S]*?)\nSQL/.exec(script)?.[1]?.replace(":'password'", `'${password}'`);
  const admin = new pg.Client({ connectionString: adminUrl });
  await admin.connect();
  try {
    await admin.query('DROP DATABASE IF EXISTS fiscal');
    for (const role of ['fiscal_app_tenant', 'fiscal_app', 'fiscal_owner'])
      await admin.query(`DROP ROLE IF EXISTS ${role}`);
    for (const statement of (statements ?? '').split(';').filter((part) => part.trim() !== ''))
      await admin.query(statement);
  } finally {
    await admin.end();
  }
}
