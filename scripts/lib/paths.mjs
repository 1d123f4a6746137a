import path from 'node:path';

import { UserError } from './user-error.mjs';

/** The folder that holds package.json. */
export const ROOT = path.resolve(import.meta.dirname, '..', '..');

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
