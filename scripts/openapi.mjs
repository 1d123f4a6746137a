import fs from 'node:fs';
import path from 'node:path';

import { ROOT } from './lib/paths.mjs';
import { prepareWorkspace } from './lib/prepare.mjs';
import { runProgram, UserError } from './lib/user-error.mjs';

const FILE = path.join(ROOT, 'docs', 'openapi.json');

/** npm run openapi writes docs/openapi.json from the code; with --check it compares, and holds it against the OWASP rules. */
await runProgram(async () => {
  await prepareWorkspace();
  // Packages may be used only from here on.
  await import('reflect-metadata');
  const { describeApi } = await import('./lib/openapi/describe-api.mjs');
  const text = `${JSON.stringify(await describeApi(), null, 2)}\n`;
  if (!process.argv.includes('--check')) {
    fs.writeFileSync(FILE, text);
    return;
  }
  const written = fs.existsSync(FILE) ? fs.readFileSync(FILE, 'utf8') : '';
  if (written !== text) throw new UserError('docs/openapi.json is not what the code says: run npm run openapi');
  const { lintDescription } = await import('./lib/openapi/lint-description.mjs');
  const errors = await lintDescription(text);
  if (errors.length > 0) throw new UserError(`docs/openapi.json breaks rules:\n${errors.join('\n')}`);
});
