import fs from 'node:fs';
import path from 'node:path';

import { prepareWorkspace } from './lib/prepare.mjs';
import { ROOT } from './lib/paths.mjs';
import { runProgram } from './lib/user-error.mjs';

/** npm run build:sdk: the package @fiscal-gateway/sdk in dist/sdk, ready for `npm pack` and `npm publish`. */
const TARGET = path.join(ROOT, 'dist', 'sdk');

await runProgram(async () => {
  await prepareWorkspace();
  // Packages may be used only from here on.
  const { buildSdk } = await import('./lib/build-sdk.mjs');
  fs.rmSync(TARGET, { recursive: true, force: true });
  await buildSdk(TARGET);
  const { size } = fs.statSync(path.join(TARGET, 'esm', 'index.js'));
  console.log(`${path.relative(ROOT, TARGET)} (${(size / 1024).toFixed(1)} KiB minified)`);
});
