/**
 * Lets a thread of a program under test read the TypeScript sources (libs/runtime/src/start-thread.ts). Programs themselves run
 * compiled, and never come here.
 */
import fs from 'node:fs';
import { register } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { transform } from 'esbuild';

if (!isMainThread) register(import.meta.url);

/** @typedef {{ parentURL?: string }} ResolveContext */

/**
 * @param {string} specifier
 * @param {ResolveContext} context
 * @param {(specifier: string, context: ResolveContext) => unknown} next
 */
export function resolve(specifier, context, next) {
  const isOurs = /^\.{1,2}\/.*\.js$/.test(specifier) && context.parentURL !== undefined;
  const source = isOurs ? new URL(specifier.replace(/\.js$/, '.ts'), context.parentURL) : null;
  if (!source || !fs.existsSync(source)) return next(specifier, context);
  return { url: source.href, shortCircuit: true };
}

/**
 * @param {string} url
 * @param {object} context
 * @param {(url: string, context: object) => unknown} next
 */
export async function load(url, context, next) {
  if (!url.startsWith('file:') || !url.endsWith('.ts')) return next(url, context);
  const { code } = await transform(fs.readFileSync(fileURLToPath(url), 'utf8'), { loader: 'ts', format: 'esm' });
  return { format: 'module', source: code, shortCircuit: true };
}
