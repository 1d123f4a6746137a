import { spawn } from 'node:child_process';
import path from 'node:path';

import { openDataFolder } from './data-folder.mjs';
import { programEnvironment, sharedEnvironment } from './environment.mjs';
import { dataDirOf, ROOT } from './paths.mjs';
import { prepareWorkspace } from './prepare.mjs';
import { PROGRAMS } from './programs.mjs';
import { ensureSecrets } from './secrets.mjs';

/**
 * Runs a command of the gateway against the database that the programs of this folder use; its exit code becomes ours.
 * @param {string} main below dist/apps/gateway/src
 * @param {readonly string[]} args
 * @param {{ defaults?: NodeJS.ProcessEnv, cwd?: string }} [options] `defaults` of settings
 */
export async function runGatewayCommand(main, args, { defaults = {}, cwd } = {}) {
  await prepareWorkspace();
  const dataDir = dataDirOf(process.env);
  openDataFolder(dataDir);
  const secrets = ensureSecrets(dataDir);
  const { findDatabase } = await import('./database.mjs');
  const databases = findDatabase(process.env, dataDir);
  const shared = { ...defaults, ...sharedEnvironment(process.env, dataDir, secrets) };
  const env = programEnvironment(PROGRAMS.gateway, shared, { databases, secrets });
  const file = path.join(ROOT, 'dist', 'apps', 'gateway', 'src', main);
  const options = { env, stdio: /** @type {const} */ ('inherit'), ...(cwd !== undefined && { cwd }) };
  process.exitCode = await exitCodeOf(spawn(process.execPath, ['--enable-source-maps', file, ...args], options));
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @returns {Promise<number>}
 */
export function exitCodeOf(child) {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
}
