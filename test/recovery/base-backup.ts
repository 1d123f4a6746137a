import { spawnSync } from 'node:child_process';
import { chownSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';

/** What pg_basebackup does, which does not come with the embedded server. The server may be written to meanwhile. */
export async function takeBaseBackup(
  { adminUrl, clusterDir }: { adminUrl: string; clusterDir: string },
  base: string,
): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  try {
    await client.query("SELECT pg_backup_start('base', true)");
    copyTree(clusterDir, base, { isLive: true });
    const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop()');
    writeAs(base, 'backup_label', rows[0]?.labelfile ?? '');
  } finally {
    await client.end();
  }
  rmSync(join(base, 'postmaster.pid'));
  for (const segment of readdirSync(join(base, 'pg_wal'))) rmSync(join(base, 'pg_wal', segment), { recursive: true });
}

const GONE = /: No such file or directory$/;

/**
 * With owners and modes.
 *
 * @param isLive a server works on the files: one that it removes meanwhile is not needed, because its log says so too
 */
export function copyTree(from: string, to: string, { isLive = false } = {}): void {
  const run = spawnSync('cp', ['-a', from, to], { encoding: 'utf8', env: { PATH: process.env['PATH'], LC_ALL: 'C' } });
  const faults = run.stderr.split('\n').filter((line) => line !== '' && !(isLive && GONE.test(line)));
  if (faults.length > 0 || (run.status !== 0 && !isLive)) throw new Error(`cp: ${run.stderr}`);
}

/** A file in the server's folder, of the account that the server runs as. */
export function writeAs(folder: string, name: string, text: string): void {
  const file = join(folder, name);
  writeFileSync(file, text);
  const { uid, gid } = statSync(folder);
  chownSync(file, uid, gid);
}
