import path from 'node:path';

import { build, createServer } from 'vite';

import { ROOT } from './paths.mjs';

const SOURCE = path.join(ROOT, 'apps', 'console');

/**
 * @param {string} root
 * @returns {import('vite').InlineConfig}
 */
function settings(root = SOURCE) {
  return {
    root,
    configFile: false,
    envDir: false,
    base: '/console/',
    publicDir: false,
    logLevel: 'warn',
  };
}

/**
 * Bundles apps/console into a folder that the gateway serves below /console.
 * @param {string} target
 */
export async function buildConsole(target) {
  await bundle(SOURCE, target);
}

/**
 * The page beside which the console is measured, bundled in the same way.
 * @param {string} target
 */
export async function buildEmptyPage(target) {
  await bundle(path.join(SOURCE, 'src', 'empty'), target);
}

/**
 * @param {string} root
 * @param {string} target
 */
async function bundle(root, target) {
  await build({
    ...settings(root),
    build: {
      outDir: target,
      emptyOutDir: true,
      target: 'es2022',
      // What is inlined has a `data:` address, which the page's policy does not allow.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      rolldownOptions: {
        onLog(level, log, show) {
          // "use client" is for servers that render; here everything runs in the browser.
          if (log.code !== 'MODULE_LEVEL_DIRECTIVE') show(level, log);
        },
      },
    },
  });
}

/**
 * The same from its sources, beside a running gateway.
 * @param {string} gatewayUrl
 */
export async function serveConsole(gatewayUrl) {
  const server = await createServer({
    ...settings(),
    logLevel: 'info',
    server: { host: '127.0.0.1', port: 5173, proxy: { '^/(v1|auth)/': gatewayUrl } },
  });
  await server.listen();
  server.printUrls();
}
