import fs from 'node:fs';
import path from 'node:path';

import { bundlePrograms, isOfBundle } from './bundle-programs.mjs';
import { ROOT } from './paths.mjs';
import { runNode } from './run.mjs';
import { fingerprint, isUpToDate, writeStamp } from './stamps.mjs';

const DIST = path.join(ROOT, 'dist');
const STAMP = path.join(DIST, '.stamp');
/** The compiler in Go: the same text as TypeScript 6 in each file, for a third of the processor time. */
const TSC = path.join(ROOT, 'node_modules', 'typescript-native', 'bin', 'tsc');
const CONSOLE_FOLDER = path.join(ROOT, 'apps', 'console') + path.sep;
const CONSOLE = path.join(DIST, 'console');
const REFERENCE = path.join(DIST, 'reference');
const CONSOLE_STAMP = path.join(DIST, '.stamp-console');
const CONSOLE_SOURCES = ['apps/console', 'scripts/lib/build-console.mjs', 'package-lock.json'];
const SOURCES = [
  'apps',
  'libs',
  'prisma/schema.prisma',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'scripts/lib/build.mjs',
  'scripts/lib/build-console.mjs',
  'scripts/lib/bundle-programs.mjs',
];

/** @returns {string | null} the fingerprint to build, null when dist is up to date */
function findPendingBuild() {
  const wanted = fingerprint(SOURCES);
  return isUpToDate(STAMP, wanted) ? null : wanted;
}

/** @returns {boolean} */
export function isBuilt() {
  return findPendingBuild() === null;
}

/** Compiles apps and libs into dist, unless nothing changed since the last time. */
export async function build() {
  const wanted = findPendingBuild();
  if (wanted === null) return;
  fs.rmSync(STAMP, { force: true });
  await Promise.all([runNode('The build', [TSC, '-p', 'tsconfig.build.json', '--pretty', 'false']), bundleConsole()]);
  for (const folder of ['apps', 'libs']) {
    copyAssets(path.join(ROOT, folder), path.join(DIST, folder));
    removeOrphans(path.join(DIST, folder), path.join(ROOT, folder));
  }
  copyReference();
  await bundlePrograms();
  writeStamp(STAMP, wanted);
}

/** What the page /docs is made of: one file of a package that the programs themselves do not need. */
function copyReference() {
  fs.mkdirSync(REFERENCE, { recursive: true });
  const scalar = path.join(ROOT, 'node_modules', '@scalar', 'api-reference', 'dist', 'browser', 'standalone.js');
  fs.copyFileSync(scalar, path.join(REFERENCE, 'scalar.js'));
  fs.copyFileSync(path.join(CONSOLE_FOLDER, 'src', 'icon.svg'), path.join(REFERENCE, 'icon.svg'));
}

/** The pages of the console, unless nothing of them changed since the last time. */
async function bundleConsole() {
  const wanted = fingerprint(CONSOLE_SOURCES);
  if (isUpToDate(CONSOLE_STAMP, wanted) && fs.existsSync(path.join(CONSOLE, 'index.html'))) return;
  fs.rmSync(CONSOLE_STAMP, { force: true });
  // Packages may be used only from here on.
  const { buildConsole } = await import('./build-console.mjs');
  await buildConsole(CONSOLE);
  writeStamp(CONSOLE_STAMP, wanted);
}

/**
 * What a program reads beside its code (fonts, samples, pages): everything below src that is no source.
 * @param {string} from
 * @param {string} to
 */
function copyAssets(from, to) {
  for (const entry of fs.readdirSync(from, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile() || /\.(ts|md)$/.test(entry.name) || entry.name.startsWith('.')) continue;
    const file = path.join(entry.parentPath, entry.name);
    // Bundled, not copied.
    if (file.startsWith(CONSOLE_FOLDER)) continue;
    const target = path.join(to, path.relative(from, file));
    fs.mkdirSync(path.dirname(target), { recursive: true });
    fs.copyFileSync(file, target);
  }
}

/**
 * Neither the compiler nor the copying deletes: a module that was renamed would live on in dist and still be importable, a file be read.
 * @param {string} dist
 * @param {string} sources
 */
function removeOrphans(dist, sources) {
  if (!fs.existsSync(dist)) return;
  for (const entry of fs.readdirSync(dist, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile() || isOfBundle(entry.name)) continue;
    const file = path.join(sources, path.relative(dist, entry.parentPath), entry.name.replace(/\.map$/, ''));
    if (!fs.existsSync(file) && !fs.existsSync(file.replace(/\.js$/, '.ts')))
      fs.rmSync(path.join(entry.parentPath, entry.name));
  }
}
