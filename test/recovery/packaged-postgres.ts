import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, openSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { createCluster, killServer, spawnServer, stopServer } from '../../scripts/lib/postgres-cluster.mjs';
import { findServiceAccount } from '../../scripts/lib/service-account.mjs';
import { prepareTemplate } from '../../scripts/lib/test-server.mjs';
import { sql } from '../system/database.js';
import { until } from '../../libs/runtime/src/testing/until.js';

const ROOT = '/usr/lib/postgresql';

/** A PostgreSQL of the system's packages with its own pg_dump; the embedded one comes without tools. Null: none here. */
export function findPackaged(): { bin: string; major: number } | null {
  if (!existsSync(ROOT)) return null;
  const majors = readdirSync(ROOT)
    .map(Number)
    .filter((major) =>
      ['initdb', 'postgres', 'pg_dump', 'pg_restore'].every((tool) =>
        existsSync(join(ROOT, String(major), 'bin', tool)),
      ),
    )
    .sort((left, right) => right - left);
  return majors[0] === undefined ? null : { bin: join(ROOT, String(majors[0]), 'bin'), major: majors[0] };
}

export interface PackagedServer {
  adminUrl: string;
  /** Runs one of its tools. */
  tool(name: string, args: string[]): void;
  stop(): Promise<void>;
}

export async function startPackaged({ bin, major }: { bin: string; major: number }): Promise<PackagedServer> {
  const account = findServiceAccount();
  const folder = mkdtempSync(join(tmpdir(), 'fiscal-packaged-'));
  spawnSync('chmod', ['711', folder]);
  const binaries = {
    folder: bin,
    version: String(major),
    major,
    initdb: join(bin, 'initdb'),
    postgres: join(bin, 'postgres'),
  };
  const cluster = { clusterDir: join(folder, 'data'), binaries, account };
  const password = 'recovery';
  createCluster(cluster, password, { durable: false });
  const port = await freePorts(1);
  const log = openSync(join(folder, 'log'), 'a');
  const child = spawnServer(cluster, { port, log, settings: { fsync: 'off' } });
  const adminUrl = `postgresql://postgres:${password}@127.0.0.1:${port}/postgres`;
  const stop = async (): Promise<void> => {
    if (child.pid !== undefined) {
      await stopServer(child.pid, 4_000);
      await killServer(child.pid);
    }
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await until(
      'the packaged PostgreSQL answers',
      () =>
        sql({ adminUrl }, 'SELECT 1').then(
          () => true,
          () => false,
        ),
      Boolean,
    );
    await prepareTemplate(adminUrl);
  } catch (error) {
    await stop();
    throw error;
  }
  const tool = (name: string, args: string[]): void => {
    const run = spawnSync(join(bin, name), args, { encoding: 'utf8' });
    if (run.status !== 0) throw new Error(`${name}: ${run.stderr}`);
  };
  return { adminUrl, tool, stop };
}
