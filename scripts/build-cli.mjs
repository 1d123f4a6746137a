import fs from 'node:fs';
import path from 'node:path';

import { prepareWorkspace } from './lib/prepare.mjs';
import { ROOT } from './lib/paths.mjs';
import { runProgram } from './lib/user-error.mjs';

/** npm run build:cli: the package @fiscal-gateway/cli in dist/cli, one file that needs nothing but Node.js. */
const TARGET = path.join(ROOT, 'dist', 'cli');

await runProgram(async () => {
  await prepareWorkspace();
  // Packages may be used only from here on.
  const { buildCli } = await import('./lib/build-cli.mjs');
  fs.rmSync(TARGET, { recursive: true, force: true });
  await buildCli(TARGET);
  const { size } = fs.statSync(path.join(TARGET, 'fgw.mjs'));
  console.log(`${path.relative(ROOT, TARGET)} (${Math.round(size / 1024)} KiB)`);
});
