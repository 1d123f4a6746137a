import fs from 'node:fs';
import path from 'node:path';

import { readJson } from './files.mjs';
import { ROOT } from './paths.mjs';
import { step } from './progress.mjs';
import { run } from './run.mjs';
import { UserError } from './user-error.mjs';

/** @typedef {{ version?: string, optional?: boolean, devOptional?: boolean, peer?: boolean, link?: boolean }} LockEntry */

/** Refuses a Node.js that is too old, in one sentence instead of a syntax error somewhere inside. */
export function assertNodeVersion() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  throw new UserError(`Node.js 20.19 or newer is needed; this is ${process.version}.`);
}

/** Installs the packages when they are missing or differ from package-lock.json. */
export async function ensureInstalled() {
  const reason = findReasonToInstall();
  if (reason === null) return;
  refuseLinkedFolder();
  await step(`Installing the packages (${reason})`, async () => {
    const { code, output } = await runNpm(['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error']);
    if (code !== 0) throw new UserError(`npm ci failed:\n${output.trim()}`);
  });
}

/** `npm ci` would empty the folder that the link leads to, which belongs to another checkout. */
function refuseLinkedFolder() {
  const folder = path.join(ROOT, 'node_modules');
  if (fs.lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return;
  throw new UserError('node_modules is a link to another folder: install there, or remove the link.');
}

/**
 * npm itself writes down what it installed; comparing with that also sees a package added by hand or a switched branch.
 * @returns {string | null}
 */
function findReasonToInstall() {
  const installed = readLock(path.join(ROOT, 'node_modules', '.package-lock.json'));
  if (installed === null) return 'none yet';
  const wanted = readLock(path.join(ROOT, 'package-lock.json'));
  if (wanted === null)
    throw new UserError('package-lock.json is missing: this is not a complete copy of the repository.');
  for (const [name, entry] of Object.entries(wanted)) {
    if (name === '' || entry.link) continue;
    const found = installed[name]?.version;
    const mayBeMissing = entry.optional || entry.devOptional || entry.peer;
    if (found === undefined ? !mayBeMissing : found !== entry.version) return `${path.basename(name)} has changed`;
  }
  return null;
}

/**
 * @param {string} file
 * @returns {Record<string, LockEntry> | null}
 */
function readLock(file) {
  const lock = /** @type {{ packages?: Record<string, LockEntry> } | undefined} */ (readJson(file));
  return lock?.packages ?? null;
}

/** @param {string[]} args */
function runNpm(args) {
  // Set by npm for its scripts; going through it needs no shell on Windows.
  const npm = process.env['npm_execpath'];
  if (npm !== undefined && fs.existsSync(npm)) return run(process.execPath, [npm, ...args]);
  return run('npm', args);
}
