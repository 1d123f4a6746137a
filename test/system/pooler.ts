import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestDatabase } from '../../libs/database/src/testing/index.js';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { findServiceAccount } from '../../scripts/lib/service-account.mjs';
import { until } from '../../libs/runtime/src/testing/until.js';

const PROGRAM = 'pgbouncer';
const ROLE = 'fiscal_app';

/** Whether a pooler can be tested on this machine (Debian's pgbouncer). */
export function poolerIsInstalled(): boolean {
  return spawnSync(PROGRAM, ['--version'], { stdio: 'ignore' }).status === 0;
}

/** A PgBouncer in transaction mode, with the configuration that we ship and fewer sessions than the programs have connections. */
export class OwnPooler {
  private child: ChildProcess | null = null;

  private constructor(
    private readonly folder: string,
    private readonly port: number,
    private readonly database: TestDatabase,
  ) {}

  static async start(database: TestDatabase, poolSize: number): Promise<OwnPooler> {
    const folder = mkdtempSync(join(tmpdir(), 'fiscal-pooler-'));
    chmodSync(folder, 0o755);
    const pooler = new OwnPooler(folder, await freePorts(1), database);
    pooler.configure(poolSize);
    await pooler.start();
    return pooler;
  }

  urlOf(program: 'gateway' | 'relay'): string {
    const url = new URL(this.database.url);
    url.port = String(this.port);
    url.pathname = `/fiscal_${program}`;
    return url.href;
  }

  async start(): Promise<void> {
    const account = findServiceAccount();
    // It refuses to run as root.
    this.child = spawn(PROGRAM, [join(this.folder, 'pgbouncer.ini')], { stdio: 'ignore', ...(account ?? {}) });
    await until('the pooler answers', () => this.answers(), Boolean);
  }

  /** As a failing machine would: whatever is under way is cut off. */
  async kill(): Promise<void> {
    const { child } = this;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }

  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** What each session behind the pooler shows to the next client: all of them, each held while the others are read. */
  async leftBehind(sessions: number): Promise<{ pid: number; role: string; merchant: string | null }[]> {
    const clients = Array.from({ length: sessions }, () => this.client());
    try {
      const read = async (client: pg.Client) => {
        await client.connect();
        await client.query('BEGIN');
        const { rows } = await client.query<{ pid: number; role: string; merchant: string | null }>(
          `SELECT pg_backend_pid() AS pid, current_user AS role, current_setting('fgw.merchant_id', true) AS merchant`,
        );
        return rows;
      };
      return (await Promise.all(clients.map(read))).flat();
    } finally {
      await Promise.all(clients.map((client) => client.end()));
    }
  }

  /** Takes all sessions of the gateways away until the returned function is called. */
  async takeAll(sessions: number): Promise<() => Promise<void>> {
    const clients = Array.from({ length: sessions }, () => this.client());
    for (const client of clients) {
      await client.connect();
      await client.query('BEGIN');
    }
    return async () => {
      await Promise.all(clients.map((client) => client.end()));
    };
  }

  /** As a gateway reaches it. */
  client(): pg.Client {
    const client = new pg.Client({ connectionString: this.urlOf('gateway'), application_name: 'test' });
    client.on('error', () => undefined);
    return client;
  }

  private async answers(): Promise<boolean> {
    const client = new pg.Client({ connectionString: this.urlOf('gateway'), connectionTimeoutMillis: 2_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.query('SELECT 1');
      return true;
    } catch {
      // Not yet.
      return false;
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  private configure(poolSize: number): void {
    const { hostname, port, pathname, password } = new URL(this.database.url);
    const userlist = join(this.folder, 'userlist.txt');
    writeFileSync(userlist, `"${ROLE}" "${decodeURIComponent(password)}"\n`, { mode: 0o644 });
    const shipped = readFileSync(join(process.cwd(), 'ops', 'pgbouncer', 'pgbouncer.ini'), 'utf8');
    const here: [RegExp, string][] = [
      [/host=postgres port=5432 dbname=fiscal /g, `host=${hostname} port=${port} dbname=${pathname.slice(1)} `],
      [/^listen_addr = .*$/m, 'listen_addr = 127.0.0.1'],
      [/^listen_port = .*$/m, `listen_port = ${String(this.port)}`],
      [/^auth_file = .*$/m, `auth_file = ${userlist}`],
      [/^default_pool_size = .*$/m, `default_pool_size = ${String(poolSize)}`],
    ];
    const ini = here.reduce((text, [pattern, value]) => {
      if (!new RegExp(pattern.source, 'm').test(text)) throw new Error(`${pattern.source} is not in pgbouncer.ini`);
      return text.replace(pattern, value);
    }, shipped);
    writeFileSync(join(this.folder, 'pgbouncer.ini'), ini, { mode: 0o644 });
  }
}
