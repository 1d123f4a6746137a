import fs from 'node:fs';
import path from 'node:path';

import { readArguments } from './lib/arguments.mjs';
import { openDataFolder } from './lib/data-folder.mjs';
import { programEnvironment, sharedEnvironment } from './lib/environment.mjs';
import { readJson } from './lib/files.mjs';
import { assertNodeVersion } from './lib/install.mjs';
import { dataDirOf, ROOT } from './lib/paths.mjs';
import { assertPortsFree } from './lib/ports.mjs';
import { prepareWorkspace } from './lib/prepare.mjs';
import { baseUrlOf, PROGRAMS } from './lib/programs.mjs';
import { step } from './lib/progress.mjs';
import { runNode } from './lib/run.mjs';
import { ensureSecrets } from './lib/secrets.mjs';
import { Supervisor } from './lib/supervisor.mjs';
import { runProgram } from './lib/user-error.mjs';
import { printWelcome } from './lib/welcome.mjs';

const SEED = path.join(ROOT, 'dist', 'apps', 'gateway', 'src', 'programs', 'demo', 'seed-demo.js');

/** npm start: from a fresh clone to a running system with a demo merchant, in one command. */
await runProgram(async () => {
  assertNodeVersion();
  readArguments('Usage: npm start; what runs where is set by the environment (.env.example).');
  const dataDir = dataDirOf(process.env);
  const supervisor = new Supervisor(path.join(dataDir, 'logs'));
  /** @type {import('./lib/database.mjs').Database | null} */
  let database = null;
  const stop = once(async () => {
    await supervisor.stop(5_500);
    await database?.stop();
  });
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.once(signal, () => {
      console.log('\nStopping …');
      void stop().then(() => {
        console.log('Stopped.');
        process.exit(0);
      });
    });
    // A second Ctrl-C changes nothing: the data must reach the disk.
    process.on(signal, () => {});
  }
  try {
    await assertPortsFree(Object.values(PROGRAMS), process.env);
    openDataFolder(dataDir);
    await prepareWorkspace();
    const secrets = ensureSecrets(dataDir);
    // Packages may be used only from here on: before, they may not be installed.
    const { openDatabase } = await import('./lib/database.mjs');
    database = await openDatabase(process.env, dataDir);
    await startPrograms(supervisor, dataDir, secrets, database);
    fs.chmodSync(path.join(dataDir, 'demo.json'), 0o600);
    printWelcome(readJson(path.join(dataDir, 'demo.json')), { dataDir, env: process.env });
  } catch (error) {
    if (stop.isRequested()) return;
    await stop();
    throw error;
  }
});

/**
 * @param {Supervisor} supervisor
 * @param {string} dataDir
 * @param {import('./lib/secrets.mjs').Secrets} secrets
 * @param {import('./lib/database.mjs').Database} databases
 */
async function startPrograms(supervisor, dataDir, secrets, databases) {
  const shared = sharedEnvironment(process.env, dataDir, secrets);
  const start = (/** @type {import('./lib/programs.mjs').Program} */ program) =>
    step(`Starting the ${program.title}`, () =>
      supervisor.start(
        program,
        programEnvironment(program, shared, { databases, secrets }),
        baseUrlOf(program, shared),
      ),
    );
  const { databaseUrl, migrateDatabaseUrl } = databases;
  const seed = () =>
    runNode('The demo set-up', ['--enable-source-maps', SEED], {
      env: {
        ...shared,
        DATABASE_URL: databaseUrl,
        MIGRATE_DATABASE_URL: migrateDatabaseUrl,
        REGISTER_API_KEY: secrets.register_api_key,
      },
    });
  const outside = [start(PROGRAMS.ofd), start(PROGRAMS.payments), start(PROGRAMS.register)];
  await Promise.all([...outside, step('Setting up the demo merchant', seed)]);
  await Promise.all([start(PROGRAMS.gateway), start(PROGRAMS.relay)]);
}

/**
 * A signal and a failed start may both ask for the end; it happens once.
 * @param {() => Promise<void>} work
 */
function once(work) {
  /** @type {Promise<void> | undefined} */
  let running;
  const stop = () => (running ??= work());
  return Object.assign(stop, { isRequested: () => running !== undefined });
}
