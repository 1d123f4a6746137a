import { readArguments } from './lib/arguments.mjs';
import { bundlePrograms } from './lib/bundle-programs.mjs';
import { prepareWorkspace } from './lib/prepare.mjs';
import { ROOT } from './lib/paths.mjs';
import { endCommandsWithUs, run, runNode } from './lib/run.mjs';
import { runProgram, UserError } from './lib/user-error.mjs';

/** npm run bench [-- names] [--quick]: a durable PostgreSQL of its own, the programs from dist, figures as Markdown. */
await runProgram(async () => {
  endCommandsWithUs();
  readArguments('Usage: npm run bench [-- accept latency … --quick]; the names are in docs/performance.md.', {
    flags: ['quick'],
    names: true,
  });
  await prepareWorkspace();
  const { startTestServer, prepareTemplate } = await import('./lib/test-server.mjs');
  const tsc = `${ROOT}/node_modules/typescript/bin/tsc`;
  await runNode('The build of the benches', [tsc, '-p', 'tsconfig.bench.json'], { env: process.env });
  // The compiler has written the programs anew, as modules.
  await bundlePrograms();
  const server = await startTestServer({ durable: true });
  try {
    await prepareTemplate(server.adminUrl);
    const env = { ...process.env, TEST_DATABASE_ADMIN_URL: server.adminUrl };
    const args = ['--enable-source-maps', 'dist/bench/main.js', ...process.argv.slice(2)];
    const { code } = await run(process.execPath, args, { env, show: true });
    if (code !== 0) throw new UserError('The bench failed.');
  } finally {
    await server.stop();
  }
});
