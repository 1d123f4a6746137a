import fs from 'node:fs';
import path from 'node:path';

import { isMissing } from './lib/files.mjs';
import { countWords, findWords, grownWords, newOccurrences } from './lib/language.mjs';
import { ROOT } from './lib/paths.mjs';
import { runProgram, UserError } from './lib/user-error.mjs';

/**
 * node scripts/language.mjs [folder] fails on words that are not written here (docs/glossary.md has those that are). What was written
 * before the rule stands in scripts/lib/language-remaining.json, by word and file; a count there may only fall. With --write the list
 * is written anew, after words were replaced or a file was moved.
 */
await runProgram(async () => {
  const args = process.argv.slice(2);
  const root = path.resolve(args.find((arg) => !arg.startsWith('--')) ?? ROOT);
  const list = path.join(root, 'scripts', 'lib', 'language-remaining.json');
  const remaining = readRemaining(list);
  const occurrences = findWords(root);
  if (args.includes('--write')) write(list, countWords(occurrences), remaining);
  else check(newOccurrences(occurrences, remaining ?? {}));
});

/** @param {readonly import('./lib/language.mjs').Occurrence[]} added */
function check(added) {
  if (added.length === 0) return;
  const lines = added.map(({ word, file, line, text }) => `${file}:${line} "${word}": ${text.slice(0, 120)}`);
  throw new UserError(
    `Words that are not written here (docs/glossary.md; after a file was moved: node scripts/language.mjs --write):\n${lines.join('\n')}`,
  );
}

/**
 * @param {string} list
 * @param {import('./lib/language.mjs').Counts} counts
 * @param {import('./lib/language.mjs').Counts | null} remaining
 */
function write(list, counts, remaining) {
  const grown = remaining === null ? [] : grownWords(counts, remaining);
  if (grown.length > 0) throw new UserError(`More often than before: ${grown.join(', ')}. A count may only fall.`);
  fs.writeFileSync(list, `${JSON.stringify(sorted(counts), null, 2)}\n`);
}

/** @param {import('./lib/language.mjs').Counts} counts */
function sorted(counts) {
  return Object.fromEntries(Object.entries(counts).sort(([a], [b]) => a.localeCompare(b)));
}

/**
 * @param {string} list
 * @returns {import('./lib/language.mjs').Counts | null}
 */
function readRemaining(list) {
  try {
    return JSON.parse(fs.readFileSync(list, 'utf8'));
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}
