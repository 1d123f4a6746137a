// Promise: the backups of docker-compose.yml can be gone back to, to the moment, also after the server or a backup was killed in the middle.
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../libs/runtime/src/testing/until.js';
import { account, ended, Installation, mayRun } from './compose-installation.js';
import { holdLongAnswer } from './held-connection.js';

let one: Installation;
beforeAll(async () => {
  if (!mayRun) return;
  one = new Installation();
  one.create();
  await one.start();
  await one.sql('CREATE TABLE sales (number int PRIMARY KEY)');
});
afterAll(() => one?.remove());

const heldTest = mayRun ? test : test.skip;

heldTest('goes back to a moment between two sales, after the server was killed', async () => {
  expect(ended(one.script('back-up.sh', ['check']))).toEqual([1, 'back-up: there is none\n']);
  const before = await one.clock();
  await one.nextSecond();
  await one.sql('INSERT INTO sales VALUES (1)');
  expect(ended(one.script('back-up.sh', ['once']))).toMatchObject([0, expect.anything()]);
  expect(ended(one.script('back-up.sh', ['check']))).toEqual([0, '']);
  await one.nextSecond();
  await one.sql('INSERT INTO sales VALUES (2)');
  const moment = await one.clock();
  await one.sql('INSERT INTO sales VALUES (3)');
  await one.archived();
  await one.sql('INSERT INTO sales VALUES (4)');
  await one.kill();

  const first = ended(one.script('restore.sh', [moment]));
  expect(first).toEqual([1, `restore: ${one.clusterDir} is not empty; put it aside first\n`]);
  await one.lose();
  expect(ended(one.script('restore.sh', [before]))).toEqual([
    1,
    expect.stringContaining('no base backup had ended by then'),
  ]);
  expect(ended(one.script('restore.sh', ['yesterday?']))).toEqual([1, expect.stringContaining('is no time')]);
  expect(readdirSync(one.clusterDir)).toEqual([]);
  expect(ended(one.script('restore.sh', [moment]))).toEqual([0, '']);
  await one.recover();
  expect(await one.numbers()).toEqual([1, 2]);
  await one.sql('INSERT INTO sales VALUES (5)');
});

heldTest('keeps as many as it was asked for, and the log that the oldest of them needs', async () => {
  const all = one.log();
  for (let nth = 0; nth < 3; nth += 1) {
    await one.nextSecond();
    await one.archived();
    expect(ended(one.script('back-up.sh', ['once']))[0]).toBe(0);
  }
  expect(one.bases()).toHaveLength(2);
  expect(one.log().filter((name) => all.includes(name) && /^[0-9A-F]{24}\.gz$/.test(name))).toEqual([]);
  await one.sql('INSERT INTO sales VALUES (6)');
  await one.archived();
  await one.kill();
  // Without a time: all that the archive has, whatever an earlier way back stopped at.
  const elsewhere = join(one.folder, 'elsewhere');
  one.makeFolder(elsewhere);
  one.clusterDir = elsewhere;
  expect(ended(one.script('restore.sh', []))).toEqual([0, '']);
  await one.start();
  expect(await one.numbers()).toEqual([1, 2, 5, 6]);
});

heldTest('a backup that was killed half-way is none, takes no other one away, and goes with the next', async () => {
  const bases = one.bases();
  const half = join(one.backups, 'base', '20260101T000000Z.part');
  mkdirSync(half);
  writeFileSync(join(half, 'base.tar.gz'), 'half');
  if (account) chownSync(half, account.uid, account.gid);
  expect(ended(one.script('back-up.sh', ['once'], { PGPORT: '1' }))[0]).not.toBe(0);
  expect(one.bases()).toEqual(bases);
  await one.nextSecond();
  expect(ended(one.script('back-up.sh', ['once']))).toMatchObject([0, expect.anything()]);
  expect(existsSync(half)).toBe(false);
});

heldTest('a backup that lasts longer than the server keeps its log is whole, and can be gone back to', async () => {
  const [first] = await one.sql<{ segment: string }>('SELECT pg_walfile_name(pg_current_wal_lsn()) AS segment');
  const slow = await holdLongAnswer(one.port, 1_000_000);
  try {
    await one.nextSecond();
    const backup = one.begin('back-up.sh', ['once'], { PGPORT: String(slow.port) });
    await Promise.race([slow.held, backup]);
    const isOld = ({ name }: { name: string }): boolean =>
      /^[0-9A-F]{24}$/.test(name) && name <= (first?.segment ?? '');
    let number = 100;
    await until(
      'the server has forgotten the log of before the backup, and where it began',
      async () => {
        number += 1;
        await one.sql(`INSERT INTO sales VALUES (${String(number)})`);
        await one.sql('SELECT pg_switch_wal()');
        await one.sql('CHECKPOINT');
        return one.sql<{ name: string }>('SELECT name FROM pg_ls_waldir()');
      },
      (left) => number > 103 && !left.some(isOld),
    );
    const standing = await one.sql('SELECT phase FROM pg_stat_progress_basebackup');
    expect(standing).toEqual([{ phase: 'streaming database files' }]);
    slow.resume();
    expect(await backup).toEqual([0, expect.anything()]);
    const sold = await one.numbers();
    await one.archived();
    await one.lose();
    expect(ended(one.script('restore.sh', []))).toEqual([0, '']);
    await one.recover();
    expect(await one.numbers()).toEqual(sold);
    // What came with the backup is not archived a second time: the archive has its segments whole.
    await one.archived();
  } finally {
    await slow.close();
  }
});

heldTest('a backup that fails takes no room, and fewer are kept all the same where that was asked for', () => {
  const bases = one.bases();
  expect(bases).toHaveLength(2);
  const log = one.log();
  const failed = one.script('back-up.sh', ['once'], { PGPORT: '1', BACKUP_KEEP: '1' });
  expect(failed.status).not.toBe(0);
  expect(readdirSync(join(one.backups, 'base'))).toEqual(bases.slice(1));
  expect(one.log().length).toBeLessThan(log.length);
  const nothing = join(one.folder, 'nothing');
  one.makeFolder(nothing);
  const first = one.script('back-up.sh', ['once'], { PGPORT: '1', BACKUP_DIR: nothing });
  expect([first.status, first.stderr]).toEqual([1, expect.not.stringContaining('first-segment')]);
});

heldTest('a segment of the log is archived once, whole, and never over another one', () => {
  const segment = join(one.backups, 'segment');
  const archive = (): [number | null, string] =>
    ended(one.script('archive-wal.sh', [segment, '0000000F0000000000000001']));
  writeFileSync(segment, 'what happened');
  chmodSync(segment, 0o644);
  // Left by a server that died while it copied.
  writeFileSync(join(one.backups, 'wal', '0000000F0000000000000001.gz.part'), 'wha', { mode: 0o666 });
  chmodSync(join(one.backups, 'wal', '0000000F0000000000000001.gz.part'), 0o666);
  expect(archive()).toEqual([0, '']);
  expect(archive()).toEqual([0, '']);
  writeFileSync(segment, 'what another server says happened');
  expect(archive()).toEqual([1, 'archive-wal: 0000000F0000000000000001 is archived already, with another content\n']);
});

heldTest('a damaged backup is not started', () => {
  const [newest = ''] = one.bases().slice(-1);
  const manifest = join(one.backups, 'base', newest, 'backup_manifest');
  writeFileSync(manifest, '{}');
  const aside = join(one.folder, 'aside');
  one.makeFolder(aside);
  const [status, said] = ended(one.script('restore.sh', [], { PGDATA: aside }));
  expect([status, said]).toEqual([1, expect.stringContaining('is damaged')]);
  expect(existsSync(join(aside, 'recovery.signal'))).toBe(false);
});
