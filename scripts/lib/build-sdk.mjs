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
  const outfile = path.join(target, 'esm', 'index.js');
  await build({
    entryPoints: [path.join(SOURCE, 'src', 'index.ts')],
    outfile,
    bundle: true,
    minify: true,
    platform: 'neutral',
    target: 'es2022',
    charset: 'utf8',
    format: 'esm',
    logLevel: 'warning',
  });
  fs.mkdirSync(path.join(target, 'cjs'), { recursive: true });
  fs.writeFileSync(path.join(target, 'cjs', 'index.js'), asCommonJs(fs.readFileSync(outfile, 'utf8')));
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

/**
 * The same code for `require`: a bundle without imports, whose last statement exports. esbuild's own form has half a kilobyte of
 * helpers for modules that import each other.
 * @param {string} bundle
 */
export function asCommonJs(bundle) {
  const [statement, names = ''] = /export\{([^{}]*)\};\s*$/.exec(bundle) ?? [];
  if (statement === undefined) throw new Error('The bundle of the SDK does not end with what it exports.');
  const shown = names.split(',').map((one) => {
    const [local, name = local] = one.split(' as ');
    return `${name}:${local}`;
  });
  // The last member is what CommonJS shows of itself to those who import it as an ES module.
  return `"use strict";${bundle.slice(0, -statement.length)}module.exports={${shown.join(',')},__esModule:!0};\n`;
}
