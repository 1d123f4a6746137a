import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

import { UserError } from './user-error.mjs';

/** @typedef {{ uid: number, gid: number }} ServiceAccount PostgreSQL refuses to run as root and runs as this one */

const OWN_NAME = 'fiscal-postgres';

/**
 * The account PostgreSQL runs as, or null when we are an ordinary user and it simply runs as us.
 * @returns {ServiceAccount | null}
 */
export function findServiceAccount() {
  if (process.getuid?.() !== 0) return null;
  const existing = lookUp('postgres') ?? lookUp(OWN_NAME);
  if (existing !== null) return existing;
  spawnSync('useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', OWN_NAME]);
  const account = lookUp(OWN_NAME) ?? lookUp('nobody');
  if (account !== null) return account;
  throw new UserError(
    'PostgreSQL refuses to run as root and no account for it could be made (useradd); start as an ordinary user instead.',
  );
}

/**
 * @param {string} name
 * @returns {ServiceAccount | null}
 */
function lookUp(name) {
  const line = fs
    .readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith(`${name}:`));
  const [, , uid, gid] = line?.split(':') ?? [];
  return uid === undefined || gid === undefined ? null : { uid: Number(uid), gid: Number(gid) };
}

/**
 * Whether the account may walk down to this folder. Root's home is closed to it (mode 700), so a clone below it can be
 * neither executed nor written to by the database.
 * @param {string} folder absolute path that exists
 * @param {ServiceAccount} account
 */
export function canEnter(folder, account) {
  for (let current = fs.realpathSync(folder); ; current = path.dirname(current)) {
    const { mode, uid, gid } = fs.statSync(current);
    const needed = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001;
    if ((mode & needed) === 0) return false;
    if (current === path.dirname(current)) return true;
  }
}
