import { spawnSync } from 'node:child_process';
import path from 'node:path';

import { openDataFolder } from './lib/data-folder.mjs';
import { programEnvironment, sharedEnvironment } from './lib/environment.mjs';
import { dataDirOf, ROOT } from './lib/paths.mjs';
import { prepareWorkspace } from './lib/prepare.mjs';
import { PROGRAMS } from './lib/programs.mjs';
import { ensureSecrets } from './lib/secrets.mjs';
import { runProgram } from './lib/user-error.mjs';

const MAIN = path.join(ROOT, 'dist', 'apps', 'gateway', 'src', 'audit', 'main.js');

/** npm run audit:verify [-- <file of heads>]: checks all audit trails of the database that the programs of this folder use. */
await runProgram(async () => {
  await prepareWorkspace();
  const dataDir = dataDirOf(process.env);
  openDataFolder(dataDir);
  const secrets = ensureSecrets(dataDir);
  const { findDatabase } = await import('./lib/database.mjs');
  const databases = findDatabase(process.env, dataDir);
  const env = programEnvironment(PROGRAMS.gateway, sharedEnvironment(process.env, dataDir, secrets), {
    databases,
    secrets,
  });
  const args = ['--enable-source-maps', MAIN, ...process.argv.slice(2)];
  process.exitCode = spawnSync(process.execPath, args, { env, stdio: 'inherit' }).status ?? 1;
});
