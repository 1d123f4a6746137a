import fs from 'node:fs';
import path from 'node:path';

import { UserError } from './user-error.mjs';

const MARKER = 'installation.json';
const PRODUCT = 'fiscal-receipt-gateway';
const KNOWN = new Set([
  'postgres',
  'postgres.json',
  'logs',
  'register',
  'ofd',
  'payments-sim',
  'secrets.json',
  'demo.json',
  'sandbox.json',
  MARKER,
]);

/**
 * Opens the data folder, or makes it. A folder with other people's files is refused before anything is written to it.
 * @param {string} dataDir absolute path
 */
export function openDataFolder(dataDir) {
  const stat = fs.statSync(dataDir, { throwIfNoEntry: false });
  if (stat !== undefined && !stat.isDirectory()) throw new UserError(`DATA_DIR ${dataDir} is not a folder.`);
  const found = stat === undefined ? [] : fs.readdirSync(dataDir);
  const foreign = found.includes(MARKER) ? undefined : found.find((name) => !isOurs(name));
  if (foreign !== undefined) {
    throw new UserError(
      `DATA_DIR ${dataDir} holds files that are not ours (${foreign}); name an empty or a new folder instead.`,
    );
  }
  // uid 0 hands the database to a service account, which has to pass through; the secrets in it are 0600 each.
  const mode = process.getuid?.() === 0 ? 0o711 : 0o700;
  fs.mkdirSync(dataDir, { recursive: true, mode });
  assertOurProduct(path.join(dataDir, MARKER), dataDir);
}

/** @param {string} name */
function isOurs(name) {
  return KNOWN.has(name) || name.startsWith('.');
}

/**
 * @param {string} marker
 * @param {string} dataDir
 */
function assertOurProduct(marker, dataDir) {
  if (!fs.existsSync(marker)) {
    const content = { product: PRODUCT, format: 1, created_at: new Date().toISOString() };
    fs.writeFileSync(marker, `${JSON.stringify(content, null, 2)}\n`);
    return;
  }
  if (!fs.readFileSync(marker, 'utf8').includes(PRODUCT)) {
    throw new UserError(`DATA_DIR ${dataDir} belongs to another program; name an empty or a new folder instead.`);
  }
}
