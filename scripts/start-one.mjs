import { spawn } from 'node:child_process';

import { readArguments } from './lib/arguments.mjs';
import { openDataFolder } from './lib/data-folder.mjs';
import { programEnvironment, sharedEnvironment } from './lib/environment.mjs';
import { dataDirOf, ROOT } from './lib/paths.mjs';
import { assertPortsFree } from './lib/ports.mjs';
import { prepareWorkspace } from './lib/prepare.mjs';
import { PROGRAM_FLAGS } from './lib/program-flags.mjs';
import { AGENT, PROGRAMS } from './lib/programs.mjs';
import { ensureSecrets } from './lib/secrets.mjs';
import { runProgram, UserError } from './lib/user-error.mjs';

/** npm run start:db, start:gateway, start:relay, start:register, start:ofd, start:payments-sim, start:agent: one program, set up by the environment. */
await runProgram(async () => {
  const { names } = readArguments('Usage: npm run start:<program>; it is set up by the environment (.env.example).', {
    names: true,
  });
  const name = names[0] ?? '';
  await prepareWorkspace();
  const dataDir = dataDirOf(process.env);
  openDataFolder(dataDir);
  const secrets = ensureSecrets(dataDir);
  if (name === 'db') return startDatabase(dataDir);
  const program = [...Object.values(PROGRAMS), AGENT].find((known) => known.name === name);
  if (program === undefined) throw new UserError(`There is no program "${name}".`);
  await assertPortsFree([program], process.env);
  const { findDatabase } = await import('./lib/database.mjs');
  const databases = program.needsDatabase ? findDatabase(process.env, dataDir) : null;
  const shared = sharedEnvironment(process.env, dataDir, secrets);
  process.exitCode = await runInForeground(program.main, programEnvironment(program, shared, { databases, secrets }));
});

/** @param {string} dataDir */
async function startDatabase(dataDir) {
  if (process.env['DATABASE_URL']) {
    throw new UserError(
      'DATABASE_URL is set, so there is no embedded PostgreSQL to start; npm run migrate brings it up to date.',
    );
  }
  const { openDatabase } = await import('./lib/database.mjs');
  const database = await openDatabase(process.env, dataDir);
  console.log(`PostgreSQL runs for the other programs of this folder. Ctrl-C stops it.\n${database.databaseUrl}`);
  const keepAlive = setInterval(() => {}, 60_000);
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.once(signal, () => {
      clearInterval(keepAlive);
      void database.stop();
    });
  }
}

/**
 * @param {string} main
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<number>}
 */
function runInForeground(main, env) {
  const child = spawn(process.execPath, [...PROGRAM_FLAGS, main], {
    cwd: ROOT,
    env,
    stdio: 'inherit',
    detached: true,
  });
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => child.kill(signal === 'SIGHUP' ? 'SIGTERM' : signal));
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? (signal === 'SIGTERM' ? 0 : 1)));
  });
}
