import fs from 'node:fs';
import path from 'node:path';

import { build } from 'esbuild';

import { ROOT } from './paths.mjs';
import { runNode } from './run.mjs';

const SOURCE = path.join(ROOT, 'libs', 'sdk');
const TSC = path.join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');

/**
 * Lays out the package @fiscal-gateway/sdk as it is published: one minified file for each kind of module, and its types.
 * @param {string} target an empty or missing folder
 */
export async function buildSdk(target) {
  for (const format of /** @type {const} */ (['esm', 'cjs'])) {
    await build({
      entryPoints: [path.join(SOURCE, 'src', 'index.ts')],
      outfile: path.join(target, format, 'index.js'),
      bundle: true,
      minify: true,
      platform: 'neutral',
      target: 'es2022',
      charset: 'utf8',
      format,
      logLevel: 'warning',
    });
  }
  const types = ['--outDir', path.join(target, 'esm'), '--pretty', 'false'];
  await runNode('The types of the SDK', [TSC, '-p', path.join(ROOT, 'tsconfig.sdk.json'), ...types]);
  // The same declarations are those of a CommonJS module where the nearest package.json says so.
  fs.cpSync(path.join(target, 'esm'), path.join(target, 'cjs'), {
    recursive: true,
    filter: (file) => !file.endsWith('.js'),
  });
  fs.writeFileSync(path.join(target, 'cjs', 'package.json'), '{ "type": "commonjs" }\n');
  for (const file of ['package.json', 'README.md']) fs.copyFileSync(path.join(SOURCE, file), path.join(target, file));
  fs.copyFileSync(path.join(ROOT, 'LICENSE'), path.join(target, 'LICENSE'));
}
