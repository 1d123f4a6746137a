import fs from 'node:fs';
import path from 'node:path';

import { ROOT } from './paths.mjs';

const LOCK_FILE = path.join(ROOT, 'package-lock.json');
/** That of the programs, and that of what builds the documentation as a site. */
export const LOCK_FILES = [LOCK_FILE, path.join(ROOT, 'scripts', 'docs-site', 'package-lock.json')];
const SYSTEMS = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32'];

/** @typedef {{ name: string, version: string, dev: boolean }} Gap a package for another platform that the lock omits */

/**
 * npm leaves packages of other platforms out of the lock when the registry in use does not have them, and then `npm ci`
 * refuses the lock everywhere.
 * @param {string} [file]
 * @returns {Gap[]}
 */
export function findLockGaps(file = LOCK_FILE) {
  const { packages } = readLock(file);
  const gaps = new Map();
  for (const [parent, entry] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      if (isLocked(packages, parent, name)) continue;
      gaps.set(name, { name, version, dev: entry.dev === true });
    }
  }
  return [...gaps.values()];
}

/**
 * Adds what is missing. Platform packages are named after their platform and pinned by their parent.
 * @param {string} [file]
 */
export function completeLock(file = LOCK_FILE) {
  const lock = readLock(file);
  const gaps = findLockGaps(file);
  for (const gap of gaps) lock.packages[`node_modules/${gap.name}`] = entryFor(gap);
  const sorted = Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, 'en'));
  fs.writeFileSync(file, `${JSON.stringify({ ...lock, packages: Object.fromEntries(sorted) }, null, 2)}\n`);
  return gaps.map(({ name }) => name);
}

/** @param {string} file */
function readLock(file) {
  return JSON.parse(fs.readFileSync(file, 'utf8'));
}

/**
 * Node's own search: beside the parent, then upwards.
 * @param {Record<string, unknown>} packages
 * @param {string} parent
 * @param {string} name
 */
function isLocked(packages, parent, name) {
  for (let folder = parent; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('node_modules/') - 1))) {
    if (`${folder === '' ? '' : `${folder}/`}node_modules/${name}` in packages) return true;
    if (folder === '') return false;
  }
}

/** @param {Gap} gap */
function entryFor({ name, version, dev }) {
  const words = name.split(/[/-]/);
  const at = words.findIndex((word) => SYSTEMS.includes(word));
  const [os, cpu, abi] = words.slice(at);
  if (at < 0 || !/^\d/.test(version))
    throw new Error(`${name}@${version} is not a platform package; install it by hand.`);
  const libc = abi === 'gnu' ? ['glibc'] : abi === 'musl' ? ['musl'] : undefined;
  return { version, cpu: [cpu], ...(dev ? { dev } : {}), ...(libc ? { libc } : {}), optional: true, os: [os] };
}
