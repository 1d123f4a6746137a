import { spawn } from 'node:child_process';
import path from 'node:path';

import { openDataFolder } from './lib/data-folder.mjs';
import { programEnvironment, sharedEnvironment } from './lib/environment.mjs';
import { dataDirOf, ROOT } from './lib/paths.mjs';
import { prepareWorkspace } from './lib/prepare.mjs';
import { reportOnStandardError } from './lib/progress.mjs';
import { PROGRAMS } from './lib/programs.mjs';
import { ensureSecrets } from './lib/secrets.mjs';
import { runProgram } from './lib/user-error.mjs';

const MAIN = path.join(ROOT, 'dist', 'apps', 'gateway', 'src', 'programs', 'cli', 'main.js');

/** npm run cli -- merchant create …: the gateway's command line, on the database that the programs of this folder use. */
await runProgram(async () => {
  reportOnStandardError();
  await prepareWorkspace();
  const dataDir = dataDirOf(process.env);
  openDataFolder(dataDir);
  const secrets = ensureSecrets(dataDir);
  const { findDatabase } = await import('./lib/database.mjs');
  const databases = findDatabase(process.env, dataDir);
  const shared = { LOG_LEVEL: 'warn', ...sharedEnvironment(process.env, dataDir, secrets) };
  const env = programEnvironment(PROGRAMS.gateway, shared, { databases, secrets });
  const args = ['--enable-source-maps', MAIN, ...process.argv.slice(2)];
  const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: 'inherit' });
  process.exitCode = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
});
