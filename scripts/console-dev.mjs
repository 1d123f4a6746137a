import { prepareWorkspace } from './lib/prepare.mjs';
import { runProgram } from './lib/user-error.mjs';

/** npm run console:dev: the console from its sources, beside a gateway that runs already (GATEWAY, else http://127.0.0.1:8080). */
await runProgram(async () => {
  await prepareWorkspace();
  // Packages may be used only from here on.
  const { serveConsole } = await import('./lib/build-console.mjs');
  await serveConsole(process.env['GATEWAY'] ?? 'http://127.0.0.1:8080');
});
