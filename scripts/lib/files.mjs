import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

/**
 * Writes a file that only its owner may read, whole or not at all: a crash leaves the old file.
 * @param {string} file
 * @param {unknown} value written as JSON
 */
export function writeSecretJson(file, value) {
  const temporary = `${file}.${randomBytes(4).toString('hex')}.tmp`;
  fs.writeFileSync(temporary, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600, flush: true });
  fs.renameSync(temporary, file);
}

/**
 * @param {string} file
 * @returns {unknown} undefined when the file does not exist
 */
export function readJson(file) {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8'));
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/**
 * The system's code of an error (ENOENT, ESRCH …). No `instanceof`: under Jest an error of Node.js itself is made in
 * another realm than the class it would be compared with.
 * @param {unknown} error
 * @returns {string | undefined}
 */
export function codeOf(error) {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return String(error.code);
}

/** @param {unknown} error */
export function isMissing(error) {
  return codeOf(error) === 'ENOENT';
}

/**
 * A log that would grow without end is put aside once, when its program starts.
 * @param {string} file
 */
export function openLog(file) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const tenMebibytes = 10 * 1024 * 1024;
  const size = fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size > tenMebibytes) fs.renameSync(file, `${file}.1`);
  return fs.openSync(file, 'a', 0o600);
}

/**
 * The end of a text file, for reporting why a program gave up.
 * @param {string} file
 * @param {number} lines
 */
export function lastLines(file, lines) {
  if (!fs.existsSync(file)) return '';
  return fs.readFileSync(file, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
}
