import fs from 'node:fs';
import path from 'node:path';
import { prepareWorkspace } from './lib/prepare.mjs';
import { ROOT } from './lib/paths.mjs';
import { runProgram } from './lib/user-error.mjs';

/** npm run build:agent: the link agent as one file that needs nothing but Node.js, for a shop's own machine. */
const OUT = path.join(ROOT, 'dist', 'link-agent.mjs');

/**
 * Nothing that the agent reaches does anything by being imported, so what it does not use (the web framework, for one) stays
 * out, although our libraries export it beside the rest.
 * @type {import('esbuild').Plugin}
 */
const importsDoNothing = {
  name: 'imports-do-nothing',
  setup(builder) {
    builder.onResolve({ filter: /.*/ }, async ({ path: wanted, kind, importer, resolveDir, pluginData }) => {
      if (kind === 'entry-point' || pluginData === 'resolving') return undefined;
      const found = await builder.resolve(wanted, { kind, importer, resolveDir, pluginData: 'resolving' });
      // Optional packages of others, which are asked for and may be missing.
      if (found.errors.length > 0) return { path: wanted, external: true, sideEffects: false };
      return found.external ? found : { ...found, sideEffects: false };
    });
  },
};

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
    plugins: [importsDoNothing],
    logLevel: 'warning',
  });
  console.log(`${path.relative(ROOT, OUT)} (${Math.round(fs.statSync(OUT).size / 1024)} KiB)`);
});
