import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

import { ROOT } from './paths.mjs';
import { commandOf } from './processes.mjs';
import { run } from './run.mjs';

/**
 * The release whose programs run beside the database of this one until each was replaced (test/faults/cases/23-release-before.ts): its
 * commit. A release is named here once it is installed somewhere. RELEASE_BEFORE in the environment names another one.
 */
const RELEASE_BEFORE = '7dc8d35bbd5a107e3484366a28f1a3de494e21db';

const FOLDER = path.join(ROOT, '.artifacts', 'releases');
const LOCK = 'package-lock.json';

/** @typedef {{ root: string, commit: string }} Release a folder with its sources, its packages and its own `dist` */

/**
 * The release before, compiled by its own scripts in a folder of its own, which is kept for the next time.
 * @returns {Promise<Release | { missing: string }>} `missing`: why this copy of the repository cannot have it
 */
export async function prepareReleaseBefore() {
  const name = process.env['RELEASE_BEFORE'] || RELEASE_BEFORE;
  const sha = commitOf(name);
  if (sha === null) {
    if (!isWhole()) return { missing: `the commit ${name} is not in this shallow copy of the repository` };
    throw new Error(`The release before, ${name}, is no commit of this repository.`);
  }
  const commit = sha.slice(0, 8);
  const sharesPackages = isWithin(git(['show', `${sha}:${LOCK}`]), fs.readFileSync(path.join(ROOT, LOCK), 'utf8'));
  // Packages that change later must not change under a release that is kept.
  const root = path.join(FOLDER, sharesPackages ? commit : `${commit}-own-packages`);
  if (!fs.existsSync(root)) await buildInto(root, sha, sharesPackages);
  return { root, commit };
}

/**
 * Whether all that a release was made with is installed here in the same versions; what came later is not asked for by it. To install a
 * thousand packages once more takes a minute, and a quarter of an hour beside the other tests.
 * @param {string} lock of the release
 * @param {string} ours
 */
function isWithin(lock, ours) {
  const installed = packagesOf(ours);
  return Object.entries(packagesOf(lock)).every(
    ([folder, { version }]) => folder === '' || (folder in installed && installed[folder]?.version === version),
  );
}

/**
 * @param {string} lock
 * @returns {Record<string, { version?: string }>} by their folders; the project itself by none
 */
function packagesOf(lock) {
  return JSON.parse(lock).packages ?? {};
}

/**
 * Built under another name, which it is given when it is whole: a killed build leaves nothing that is taken for one, and of two at once
 * the later one is thrown away.
 * @param {string} root
 * @param {string} sha
 * @param {boolean} sharesPackages
 */
async function buildInto(root, sha, sharesPackages) {
  fs.mkdirSync(FOLDER, { recursive: true });
  sweepAbandoned();
  const folder = path.join(FOLDER, `building-${process.pid}-${randomBytes(3).toString('hex')}`);
  try {
    fs.mkdirSync(folder);
    execFileSync('tar', ['-xf', '-'], { cwd: folder, input: execFileSync('git', ['archive', sha], ofGit) });
    if (sharesPackages) fs.symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'), 'junction');
    // It installs packages of its own where there are none.
    const { code, output } = await runIn(folder, 'scripts/build.mjs');
    if (code !== 0) throw new Error(`The release before, ${sha}, cannot be built:\n${output.trimEnd()}`);
    fs.renameSync(folder, root);
  } catch (error) {
    fs.rmSync(folder, { recursive: true, force: true });
    if (!fs.existsSync(root)) throw error;
  }
}

/**
 * Its migrations, and what its programs may do, by its own command.
 * @param {Release} release
 * @param {{ ownerUrl: string, url: string }} database
 */
export async function migrateAsReleaseBefore({ root, commit }, { ownerUrl, url }) {
  const { code, output } = await runIn(root, 'scripts/migrate.mjs', {
    MIGRATE_DATABASE_URL: ownerUrl,
    DATABASE_URL: url,
  });
  if (code !== 0) throw new Error(`The migrations of ${commit} failed:\n${output.trimEnd()}`);
}

/**
 * @param {string} cwd
 * @param {string} script
 * @param {Record<string, string>} [more]
 */
function runIn(cwd, script, more = {}) {
  // Not what a runner of tests has set for this process.
  const { NODE_OPTIONS: _options, NODE_ENV: _kind, ...env } = process.env;
  return run(process.execPath, [script], { cwd, env: { ...env, ...more } });
}

/** Builds whose process is gone. */
function sweepAbandoned() {
  for (const name of fs.readdirSync(FOLDER)) {
    const pid = Number(/^building-(\d+)-/.exec(name)?.[1] ?? NaN);
    if (Number.isInteger(pid) && commandOf(pid) === '')
      fs.rmSync(path.join(FOLDER, name), { recursive: true, force: true });
  }
}

/** @type {{ cwd: string, maxBuffer: number, stdio: ['ignore', 'pipe', 'pipe'] }} */
const ofGit = { cwd: ROOT, maxBuffer: 2 ** 30, stdio: ['ignore', 'pipe', 'pipe'] };

/** @param {string[]} args */
function git(args) {
  return execFileSync('git', args, { ...ofGit, encoding: 'utf8' });
}

/** @param {string} name */
function commitOf(name) {
  try {
    return git(['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`]).trim();
  } catch {
    return null;
  }
}

/** A copy of the files alone has no history either. */
function isWhole() {
  return fs.existsSync(path.join(ROOT, '.git')) && git(['rev-parse', '--is-shallow-repository']).trim() === 'false';
}
