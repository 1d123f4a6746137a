import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { ROOT } from '../paths.mjs';

/**
 * Module hooks of a process that runs a test file: TypeScript is read as it stands, `./x.js` is `./x.ts` where that is the source,
 * and `@jest/globals` are those of this process. What was compiled once is kept on disk, by its text.
 */

const CACHE = path.join(ROOT, '.artifacts', 'swc');
const GLOBALS = new URL('./globals.mjs', import.meta.url).href;
/** Changes with whatever else decides about the outcome. */
const VERSION = 'swc 1';

/** @typedef {{ parentURL?: string }} ResolveContext */

/** Sources that are known to be there. @type {Map<string, string | null>} */
const sources = new Map();

/** @param {string} href */
function sourceOf(href) {
  const known = sources.get(href);
  if (known !== undefined) return known;
  const url = href.replace(/\.js$/, '.ts');
  const source = fs.existsSync(fileURLToPath(url)) ? url : null;
  sources.set(href, source);
  return source;
}

/**
 * @param {string} specifier
 * @param {ResolveContext} context
 * @param {(specifier: string, context: ResolveContext) => unknown} next
 */
export function resolve(specifier, context, next) {
  if (specifier === '@jest/globals') return { url: GLOBALS, shortCircuit: true };
  if (!/^\.{1,2}\//.test(specifier) || context.parentURL === undefined) return next(specifier, context);
  if (specifier.endsWith('.js') && context.parentURL.endsWith('.ts')) {
    const source = sourceOf(new URL(specifier, context.parentURL).href);
    if (source !== null) return { url: source, format: 'module', shortCircuit: true };
  }
  return next(specifier, context);
}

/**
 * @param {string} url
 * @param {object} context
 * @param {(url: string, context: object) => unknown} next
 */
export async function load(url, context, next) {
  const [file = ''] = url.split('?', 1);
  if (!file.startsWith('file:') || !file.endsWith('.ts')) return next(url, context);
  return { format: 'module', source: await compiled(fileURLToPath(file)), shortCircuit: true };
}

/** @param {string} file */
async function compiled(file) {
  const text = fs.readFileSync(file, 'utf8');
  const key = createHash('sha1').update(`${VERSION}\n${process.version}\n${file}\n${text}`).digest('hex');
  const kept = path.join(CACHE, `${key}.js`);
  try {
    return fs.readFileSync(kept, 'utf8');
  } catch {
    // Not compiled yet: the first process that needs it does so.
  }
  // Read only where something has changed: its native part is large.
  const { transformSync } = await import('@swc/core');
  const { code } = transformSync(text, {
    filename: file,
    sourceMaps: 'inline',
    inlineSourcesContent: false,
    swcrc: false,
    jsc: {
      target: 'es2023',
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
    },
    module: { type: 'es6' },
  });
  fs.mkdirSync(CACHE, { recursive: true });
  // Whole or not there: another process may read it at this moment.
  const draft = `${kept}.${process.pid}`;
  fs.writeFileSync(draft, code);
  fs.renameSync(draft, kept);
  return code;
}
