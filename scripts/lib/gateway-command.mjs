import { spawnSync } from 'node:child_process';
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
 */
export async function runGatewayCommand(main, args) {
  await prepareWorkspace();
  const dataDir = dataDirOf(process.env);
  openDataFolder(dataDir);
  const secrets = ensureSecrets(dataDir);
  const { findDatabase } = await import('./database.mjs');
  const databases = findDatabase(process.env, dataDir);
  const env = programEnvironment(PROGRAMS.gateway, sharedEnvironment(process.env, dataDir, secrets), {
    databases,
    secrets,
  });
  const file = path.join(ROOT, 'dist', 'apps', 'gateway', 'src', main);
  const { status } = spawnSync(process.execPath, ['--enable-source-maps', file, ...args], { env, stdio: 'inherit' });
  process.exitCode = status ?? 1;
}
