import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

import { readJson, writeSecretJson } from './files.mjs';
import { UserError } from './user-error.mjs';

/** @typedef {{ secrets_key: string, register_api_key: string }} Secrets */

/**
 * Drawn once per data folder: with another SECRETS_KEY the stored device keys could never be opened again.
 * @param {string} dataDir
 * @returns {Secrets}
 */
export function ensureSecrets(dataDir) {
  const file = path.join(dataDir, 'secrets.json');
  if (!fs.existsSync(file) && fs.existsSync(path.join(dataDir, 'postgres.json'))) {
    throw new UserError(`${file} is missing, and nothing else can open the keys stored in this database; put it back.`);
  }
  const known = /** @type {Partial<Secrets> | undefined} */ (readJson(file)) ?? {};
  const secrets = {
    secrets_key: known.secrets_key ?? randomBytes(32).toString('base64'),
    register_api_key: known.register_api_key ?? randomBytes(24).toString('base64url'),
  };
  if (known.secrets_key === undefined || known.register_api_key === undefined) writeSecretJson(file, secrets);
  return secrets;
}
