import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

import { ROOT } from '../paths.mjs';

/** @returns {{ version: string, license: string }} */
export function readPackage() {
  return JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
}

/** @returns {Promise<string[]>} */
export async function readProblemCodes() {
  const { PROBLEMS } = await built('libs/problems/src/problem-codes.js');
  return Object.keys(PROBLEMS).sort();
}

/** @returns {Promise<string[]>} */
export async function readScopes() {
  return (await built('apps/gateway/src/http/scopes.js')).SCOPES;
}

/** @param {string} file */
function built(file) {
  return import(pathToFileURL(path.join(ROOT, 'dist', file)).href);
}
