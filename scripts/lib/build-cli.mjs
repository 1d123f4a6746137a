import fs from 'node:fs';
import path from 'node:path';

import { build } from 'esbuild';

import { readJson } from './files.mjs';
import { ROOT } from './paths.mjs';

const SOURCE = path.join(ROOT, 'apps', 'cli');

/**
 * Lays out the package @fiscal-gateway/cli as it is published.
 * @param {string} target an empty or missing folder
 */
export async function buildCli(target) {
  await build({
    entryPoints: [path.join(SOURCE, 'src', 'main.ts')],
    outfile: path.join(target, 'fgw.mjs'),
    bundle: true,
    platform: 'node',
    target: 'node20.19',
    format: 'esm',
    // Our libraries are taken from their sources.
    conditions: ['source'],
    // CommonJS packages inside call require().
    banner: { js: "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);" },
    logLevel: 'warning',
  });
  fs.chmodSync(path.join(target, 'fgw.mjs'), 0o755);
  fs.writeFileSync(path.join(target, 'package.json'), `${JSON.stringify(manifest(), null, 2)}\n`);
  fs.copyFileSync(path.join(ROOT, 'docs', 'cli.md'), path.join(target, 'README.md'));
  fs.copyFileSync(path.join(ROOT, 'LICENSE'), path.join(target, 'LICENSE'));
}

/** Not a file beside the sources: there it would cut them off from the `imports` of the root. */
function manifest() {
  const sdk = readJson(path.join(ROOT, 'libs', 'sdk', 'package.json'));
  const { version, license, engines } = /** @type {Record<string, unknown>} */ (sdk);
  return {
    name: '@fiscal-gateway/cli',
    version,
    description: 'fgw, the command line of the fiscal receipt gateway',
    license,
    type: 'module',
    engines,
    bin: { fgw: './fgw.mjs' },
    files: ['fgw.mjs', 'LICENSE', 'README.md'],
  };
}
