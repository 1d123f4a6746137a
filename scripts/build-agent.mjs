import fs from 'node:fs';
import path from 'node:path';
import { prepareWorkspace } from './lib/prepare.mjs';
import { ROOT } from './lib/paths.mjs';
import { runProgram } from './lib/user-error.mjs';

/** npm run build:agent: the link agent as one file that needs nothing but Node.js, for a shop's own machine. */
const OUT = path.join(ROOT, 'dist', 'link-agent.mjs');

await runProgram(async () => {
  await prepareWorkspace();
  const { build } = await import('esbuild');
  await build({
    entryPoints: [path.join(ROOT, 'dist/apps/link-agent/src/main.js')],
    outfile: OUT,
    bundle: true,
    platform: 'node',
    target: 'node20.19',
    format: 'esm',
    // CommonJS packages inside call require().
    banner: { js: "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);" },
    // Native speed-ups of `ws` that are used where they are installed.
    external: ['bufferutil', 'utf-8-validate'],
    plugins: [ownModulesHaveNoSideEffects],
    logLevel: 'warning',
  });
  console.log(`${path.relative(ROOT, OUT)} (${Math.round(fs.statSync(OUT).size / 1024)} KiB)`);
});

/**
 * Our libraries only declare: what the agent does not use of them (the web framework, for one) stays out.
 * @type {import('esbuild').Plugin}
 */
const ownModulesHaveNoSideEffects = {
  name: 'own-modules',
  setup(builder) {
    builder.onResolve({ filter: /^(#|\.{1,2}\/)/ }, async ({ path: wanted, ...options }) => {
      if (options.pluginData === 'resolved') return undefined;
      const { kind, importer, resolveDir } = options;
      const found = await builder.resolve(wanted, { kind, importer, resolveDir, pluginData: 'resolved' });
      const isOwn = found.path.startsWith(path.join(ROOT, 'dist') + path.sep);
      return isOwn ? { ...found, sideEffects: false } : found;
    });
  },
};
