import fs from 'node:fs';
import path from 'node:path';

import { ROOT } from './paths.mjs';

/**
 * Programs start from one file each: Node.js finds, reads, parses and links some two thousand modules for a gateway otherwise,
 * most of the time that it takes to start (docs/adr/0154-programs-start-from-one-file.md). What the compiler wrote stays beside it,
 * for threads, tools and tests that load single modules.
 */
const APPS = path.join(ROOT, 'dist', 'apps');
const PROGRAMS = [
  'gateway/src/main.js',
  'gateway/src/programs/cli/main.js',
  'device-relay/src/main.js',
  'cash-register/src/main.js',
  'ofd-simulator/src/main.js',
  'payments-simulator/src/main.js',
];

/** Found beside their own files: native parts, scripts for PostgreSQL and Redis, threads; and what these packages share with us. */
const EXTERNAL = [
  ...['@node-rs/argon2', '@resvg/resvg-js', 'libsql', 'bullmq', 'ioredis', 'pg'],
  ...['@prisma/client', '@prisma/adapter-pg', '@prisma/driver-adapter-utils', 'pino', 'undici', 'typescript'],
  ...['@opentelemetry/api', '@opentelemetry/exporter-trace-otlp-http', '@opentelemetry/resources'],
  ...['@opentelemetry/sdk-trace-base', 'pdfkit', 'fontkit'],
];

/** The ends of what the compiler wrote, where a start has taken the name, and of the bundle. */
const MODULES = '.modules.js';
const BUNDLE = '.bundle.cjs';
/** In the place of the bundler's own helper, and as long. */
const SAME = '__same';
export const SAME_HELPER = `function ${SAME}(value) { return value; }`;
/** Strict, as all modules are. `$here`: the bundle's own address; `$apps`: that of `dist/apps`, which holds all bundles. */
const HEAD = [
  `'use strict';`,
  `const $here = require('node:url').pathToFileURL(__filename).href;`,
  `const $apps = $here.slice(0, $here.lastIndexOf('/dist/apps/') + '/dist/apps/'.length);`,
  SAME_HELPER,
].join(' ');
const MARK = '// Bundled by scripts/lib/bundle-programs.mjs.';

/**
 * No source has their name.
 * @param {string} name of a file in dist
 */
export function isOfBundle(name) {
  return /\.(modules\.js|bundle\.cjs)(\.map)?$/.test(name);
}

/**
 * Bundles the programs in `dist`, each in the place of its compiled `main.js`: a CommonJS file, which Node.js reads in three fifths of the
 * time that it takes for modules, and for parts that are loaded late. In one run, so that what they share is read once.
 */
export async function bundlePrograms() {
  // Packages may be used only from here on.
  const { build } = await import('esbuild');
  for (const program of PROGRAMS) keepModules(path.join(APPS, program));
  const { outputFiles } = await build({
    entryPoints: PROGRAMS.map((program) => ({
      in: path.join(APPS, program.replace(/\.js$/, MODULES)),
      out: program.replace(/\.js$/, '.bundle'),
    })),
    outdir: APPS,
    outExtension: { '.js': '.cjs' },
    bundle: true,
    platform: 'node',
    target: 'node20.19',
    format: 'cjs',
    keepNames: true,
    write: false,
    external: EXTERNAL.flatMap((name) => [name, `${name}/*`]),
    define: { 'import.meta.url': '$here' },
    banner: { js: HEAD },
    // Read by the program itself (libs/runtime/src/mapped-stacks.ts): Node.js would read one that the file names at each start.
    sourcemap: 'external',
    sourcesContent: false,
    plugins: [placesOfModules, optionalPackages],
    logLevel: 'warning',
  });
  for (const { path: name, text } of outputFiles)
    fs.writeFileSync(name, name.endsWith(BUNDLE) ? withNamesOfClassesOnly(text) : text);
  for (const program of PROGRAMS) {
    const main = path.join(APPS, program);
    fs.writeFileSync(main, startOf(main.replace(/\.js$/, BUNDLE)));
    fs.rmSync(`${main}.map`, { force: true });
  }
}

/**
 * The program's `main.js`.
 * @param {string} file of the bundle
 */
function startOf(file) {
  const name = `./${path.basename(file)}`;
  const stacks = path.join(ROOT, 'dist', 'libs', 'runtime', 'src', 'mapped-stacks.js');
  return `${MARK}
import { createRequire } from 'node:module';
import { mapStacks } from '${path.relative(path.dirname(file), stacks).replaceAll('\\', '/')}';

const require = createRequire(import.meta.url);
mapStacks(require.resolve('${name}'));
require('${name}');
`;
}

/**
 * Classes keep the names of their sources, for logs and for `error.name`. The bundler would keep those of functions in the same way: by redefining a
 * property of each closure each time that it is made, a sixth of what accepting a receipt cost (docs/adr/0203-what-the-bundle-adds.md).
 * @param {string} text what esbuild wrote with `keepNames`; no column of it moves, so that its source map stays true
 */
export function withNamesOfClassesOnly(text) {
  return text.replaceAll(/\b__name\((?!this, )/g, `${SAME}(`);
}

/**
 * The compiler writes only what has changed: what stands there may be the bundle of before.
 * @param {string} main
 */
function keepModules(main) {
  const text = fs.readFileSync(main, 'utf8');
  if (text.startsWith(MARK)) return;
  const modules = main.replace(/\.js$/, MODULES);
  const map = path.basename(main) + '.map';
  fs.writeFileSync(modules, text.replace(`sourceMappingURL=${map}`, `sourceMappingURL=${path.basename(modules)}.map`));
  fs.copyFileSync(`${main}.map`, `${modules}.map`);
}

/**
 * `import.meta` of a module goes on to mean that module's own file, although it stands in another now.
 * @type {import('esbuild').Plugin}
 */
const placesOfModules = {
  name: 'places-of-modules',
  setup(builder) {
    builder.onLoad({ filter: /[\\/]dist[\\/](apps|libs)[\\/].*\.js$/ }, ({ path: file }) => {
      const text = fs.readFileSync(file, 'utf8');
      if (!/import\.meta\.(url|dirname|filename)/.test(text)) return undefined;
      const at = (/** @type {string} */ target) =>
        `new URL(${JSON.stringify(`./${path.relative(APPS, target).replaceAll('\\', '/')}`)}, $apps)`;
      /** @type {Record<string, string>} */
      const meaning = {
        url: `${at(file)}.href`,
        filename: `$fileOf(${at(file)})`,
        dirname: `$fileOf(${at(path.dirname(file))})`,
      };
      const contents = text.replace(/import\.meta\.(url|dirname|filename)/g, (_, name) => meaning[name] ?? '');
      return { contents: `import { fileURLToPath as $fileOf } from 'node:url'; ${contents}`, loader: 'js' };
    });
  },
};

/**
 * What a package asks for and does without stays a question at run time.
 * @type {import('esbuild').Plugin}
 */
const optionalPackages = {
  name: 'optional-packages',
  setup(builder) {
    builder.onResolve({ filter: /^[@a-z]/i }, async ({ path: wanted, kind, importer, resolveDir, pluginData }) => {
      if (pluginData === 'resolving' || kind === 'entry-point') return undefined;
      const found = await builder.resolve(wanted, { kind, importer, resolveDir, pluginData: 'resolving' });
      return found.errors.length > 0 ? { path: wanted, external: true } : found;
    });
  },
};
