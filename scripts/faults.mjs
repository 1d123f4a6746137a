import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

import { readArguments } from './lib/arguments.mjs';
import { writeTable } from './lib/fault-table.mjs';
import { ROOT } from './lib/paths.mjs';
import { prepareWorkspace } from './lib/prepare.mjs';
import { endCommandsWithUs, run, runNode } from './lib/run.mjs';
import { runProgram, UserError } from './lib/user-error.mjs';

/**
 * npm run test:faults [-- case numbers] [--tenth] [--long] [--seed N] [--write]: breaks the running system on purpose,
 * case by case, and counts. Prints one row per case and exits 1 when a promise was broken. A full run, and a tenth with
 * `--write`, puts its rows into the table of docs/reliability.md.
 */
await runProgram(async () => {
  endCommandsWithUs();
  const { flags } = readArguments(
    'Usage: npm run test:faults [-- case numbers --tenth --long --seed N --write]; the cases are in docs/reliability.md.',
    { flags: ['tenth', 'long', 'write'], values: ['seed'], names: true },
  );
  await prepareWorkspace();
  const { startTestServer, prepareTemplate } = await import('./lib/test-server.mjs');
  const tsc = `${ROOT}/node_modules/typescript/bin/tsc`;
  await runNode('The build of the fault suite', [tsc, '-p', 'tsconfig.faults.json'], { env: process.env });
  const args = process.argv.slice(2);
  const rowsFile = path.join(ROOT, '.artifacts', 'faults.json');
  fs.mkdirSync(path.dirname(rowsFile), { recursive: true });
  fs.rmSync(rowsFile, { force: true });
  const server = await startTestServer();
  try {
    await prepareTemplate(server.adminUrl);
    const env = { ...process.env, TEST_DATABASE_ADMIN_URL: server.adminUrl, FAULT_ROWS_FILE: rowsFile };
    const { code } = await run(
      process.execPath,
      ['--enable-source-maps', 'dist/test/faults/main.js', ...args.filter((arg) => arg !== '--write')],
      { env, show: true },
    );
    if (fs.existsSync(rowsFile) && (flags.has('write') || !flags.has('tenth'))) {
      const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim();
      const what = flags.has('tenth') ? `${commit}, tenth` : commit;
      writeTable(JSON.parse(fs.readFileSync(rowsFile, 'utf8')), what);
    }
    if (code !== 0) throw new UserError('The fault suite found a broken promise.');
  } finally {
    await server.stop();
  }
});
