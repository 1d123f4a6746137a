import fs from 'node:fs';
import path from 'node:path';

import { UserError } from './user-error.mjs';

/** The folder that holds package.json; also for the copies of these tools that are compiled into dist/. */
export const ROOT = findRoot(import.meta.dirname);

/**
 * @param {string} folder
 * @returns {string}
 */
function findRoot(folder) {
  if (fs.existsSync(path.join(folder, 'package.json'))) return folder;
  const parent = path.dirname(folder);
  if (parent === folder) throw new Error('There is no package.json above the tools.');
  return findRoot(parent);
}

/**
 * Where everything that must survive a restart lives.
 * @param {NodeJS.ProcessEnv} env
 */
export function dataDirOf(env) {
  return path.resolve(ROOT, env['DATA_DIR'] || '.data');
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {string} name
 * @param {number} fallback
 */
export function portOf(env, name, fallback) {
  const text = env[name];
  if (text === undefined || text === '') return fallback;
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65536) return port;
  throw new UserError(`${name} must be a port number between 1 and 65535, not "${text}".`);
}
