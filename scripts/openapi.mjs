import fs from 'node:fs';
import path from 'node:path';

import { ROOT } from './lib/paths.mjs';
import { prepareWorkspace } from './lib/prepare.mjs';
import { runProgram, UserError } from './lib/user-error.mjs';

const FILE = path.join(ROOT, 'docs', 'openapi.json');
const COLLECTION = path.join(ROOT, 'docs', 'postman.json');
const SAMPLES = path.join(ROOT, 'docs', 'code-samples.json');

/**
 * npm run openapi writes docs/openapi.json from the code, and from that docs/postman.json and docs/code-samples.json (shown at
 * /docs); with --check it compares them, and holds the description against the OWASP rules.
 */
await runProgram(async () => {
  await prepareWorkspace();
  // Packages may be used only from here on.
  await import('reflect-metadata');
  const { describeApi } = await import('./lib/openapi/describe-api.mjs');
  const { postmanCollection } = await import('./lib/openapi/postman-collection.mjs');
  const { codeSamples } = await import('./lib/openapi/code-samples.mjs');
  const text = `${JSON.stringify(await describeApi(), null, 2)}\n`;
  const collection = `${JSON.stringify(await postmanCollection(JSON.parse(text)), null, 2)}\n`;
  const samples = `${JSON.stringify(codeSamples(JSON.parse(text)), null, 1)}\n`;
  if (!process.argv.includes('--check')) {
    fs.writeFileSync(FILE, text);
    fs.writeFileSync(COLLECTION, collection);
    fs.writeFileSync(SAMPLES, samples);
    return;
  }
  if (read(FILE) !== text) throw new UserError('docs/openapi.json is not what the code says: run npm run openapi');
  if (read(COLLECTION) !== collection || read(SAMPLES) !== samples) {
    throw new UserError(
      'docs/postman.json or docs/code-samples.json is not what docs/openapi.json says: run npm run openapi',
    );
  }
  const { lintDescription } = await import('./lib/openapi/lint-description.mjs');
  const errors = await lintDescription(text);
  if (errors.length > 0) throw new UserError(`docs/openapi.json breaks rules:\n${errors.join('\n')}`);
});

/** @param {string} file */
function read(file) {
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : '';
}
