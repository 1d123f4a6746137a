import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

import { isMissing } from './files.mjs';
import { ROOT } from './paths.mjs';

/** Folders that hold results, never sources. */
const SKIPPED = new Set(['node_modules', 'dist', 'generated', '.data', '.git']);

/**
 * One hash over the contents of files and folders: the same hash means the work that depends on them is still good.
 * Contents, not times: a checkout or a copy touches every file.
 * @param {string[]} sources relative to the repository
 */
export function fingerprint(sources) {
  const hash = createHash('sha256').update(process.version);
  for (const source of sources) {
    for (const file of listFiles(path.join(ROOT, source))) {
      hash.update(`\0${path.relative(ROOT, file)}\0`).update(fs.readFileSync(file));
    }
  }
  return hash.digest('hex');
}

/**
 * @param {string} entry
 * @returns {string[]} sorted
 */
function listFiles(entry) {
  const stat = fs.statSync(entry, { throwIfNoEntry: false });
  if (stat === undefined) return [];
  if (stat.isFile()) return [entry];
  return fs
    .readdirSync(entry)
    .filter((name) => !SKIPPED.has(name))
    .sort()
    .flatMap((name) => listFiles(path.join(entry, name)));
}

/**
 * @param {string} stampFile
 * @param {string} wanted
 */
export function isUpToDate(stampFile, wanted) {
  try {
    return fs.readFileSync(stampFile, 'utf8') === wanted;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/**
 * @param {string} stampFile
 * @param {string} done
 */
export function writeStamp(stampFile, done) {
  fs.mkdirSync(path.dirname(stampFile), { recursive: true });
  fs.writeFileSync(stampFile, done);
}
