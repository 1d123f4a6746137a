import fs from 'node:fs';
import path from 'node:path';

/**
 * Words that are not written here (docs/glossary.md has those that are): file names, names, comments, messages, pages.
 * `room` is not among them: as free space it is plain English.
 * @typedef {Record<string, Record<string, number>>} Counts word, file, how often
 * @typedef {{ word: string, file: string, line: number, text: string }} Occurrence
 */

/** Examined after `LaneGrip` has become `Lane Grip` and `LET_GO` `LET GO`; names with small letters and underscores are a database's. */
const WORDS = new Map([
  ['told', /\b(?:told|tells?|telling)\b/gi],
  ['whoever', /\bwhoever\b/gi],
  ['nobody', /\b(?:nobody|everybody|somebody)\b/gi],
  ['he', /(?<![/'`"$-])\b(?:he|him|his)\b(?!['`"-])/gi],
  ['let go', /\blet(?:s|ting)?(?: (?:it|them|one|her))? go\b/gi],
  ['grip', /\bgrips?\b/gi],
  ['believed', /\bbelieved\b/gi],
  ['remembered', /\bremembered\b/gi],
  ['look', /\blook(?:s|ed|ing)?\b(?![ -](?:ups?|like|alikes?)\b)/gi],
  ['glance', /\bglanc(?:es?|ed|ing)\b/gi],
  ['hears of', /\bhear(?:s|d)? of\b/gi],
  ['house', /\bhouse\b/gi],
  ['door', /\bdoors?\b/gi],
]);

/** Examined as written. */
const NAMES = new Map([
  ['Said', /\b\w*[a-z]Said\b|\b[sS]aid[A-Z]\w*/g],
  ['soon()', /\bsoon\(/g],
  ['now() as a command', /\bworker\.now\(|\basync now\(/g],
]);

/** @type {{ files: RegExp, words: string[] | 'all', reason: string }[]} */
const ALLOWED = [
  { files: /^prisma\/migrations\//, words: 'all', reason: 'a migration is never edited once it has left its machine' },
  { files: /^docs\/adr\//, words: 'all', reason: 'a decision is kept as it was written' },
  { files: /^LICENSE$/, words: 'all', reason: 'the text of a third party' },
  { files: /^scripts\/lib\/service-account\.mjs$/, words: ['nobody'], reason: 'the name of an account of Linux' },
  { files: /^scripts\/lib\/language\.mjs$/, words: 'all', reason: 'the list itself' },
  { files: /^test\/quality\/language\.spec\.ts$/, words: 'all', reason: 'shows that each word is refused' },
];

/** Names that others depend on; they are passed over wherever they stand. */
const KEPT_NAMES = /\bPAYMENT_LOOK_MS\b/g; // a setting

const FOLDERS_OF_TOOLS = new Set(['node_modules', 'dist', 'generated', '.git', '.data', '.artifacts']);
const EXAMINED = /(?:\.(?:ts|mjs|cjs|js|md|php|py|go|cs|bsl|sh|sql|prisma|ya?ml|conf|toml)|Dockerfile|\.env\.example)$/;

/**
 * @param {string} root
 * @returns {Occurrence[]}
 */
export function findWords(root) {
  return filesBelow(root, root)
    .sort()
    .flatMap((file) => occurrencesIn(file, fs.readFileSync(path.join(root, file), 'utf8')));
}

/**
 * @param {readonly Occurrence[]} occurrences
 * @returns {Counts}
 */
export function countWords(occurrences) {
  /** @type {Counts} */
  const counts = {};
  for (const { word, file } of occurrences) {
    const files = (counts[word] ??= {});
    files[file] = (files[file] ?? 0) + 1;
  }
  return counts;
}

/**
 * What is there more often than the list of what remains says.
 * @param {readonly Occurrence[]} occurrences
 * @param {Counts} remaining
 */
export function newOccurrences(occurrences, remaining) {
  const counts = countWords(occurrences);
  return occurrences.filter(({ word, file }) => (counts[word]?.[file] ?? 0) > (remaining[word]?.[file] ?? 0));
}

/**
 * Words that are there more often than the list says, over all files: a file that was moved takes its count along.
 * @param {Counts} counts
 * @param {Counts} remaining
 */
export function grownWords(counts, remaining) {
  return Object.keys(counts).filter((word) => total(counts[word]) > total(remaining[word]));
}

/** @param {Record<string, number> | undefined} files */
function total(files) {
  return Object.values(files ?? {}).reduce((sum, count) => sum + count, 0);
}

/**
 * @param {string} root
 * @param {string} folder
 * @returns {string[]}
 */
function filesBelow(root, folder) {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const full = path.join(folder, entry.name);
    if (entry.isDirectory()) return FOLDERS_OF_TOOLS.has(entry.name) ? [] : filesBelow(root, full);
    return entry.isFile() && EXAMINED.test(entry.name) ? [path.relative(root, full).replaceAll(path.sep, '/')] : [];
  });
}

/**
 * @param {string} file
 * @param {string} text
 * @returns {Occurrence[]}
 */
function occurrencesIn(file, text) {
  // Line 0 is the file's own name.
  return [file, ...text.split('\n')].flatMap((written, line) => {
    const raw = written.replace(KEPT_NAMES, '');
    const split = raw.replace(/(?<=[a-z0-9])(?=[A-Z])/g, ' ').replace(/(?<=[A-Z])_(?=[A-Z])/g, ' ');
    return [...matches(WORDS, split), ...matches(NAMES, raw)]
      .filter((word) => !isAllowed(file, word))
      .map((word) => ({ word, file, line, text: written.trim() }));
  });
}

/**
 * @param {Map<string, RegExp>} patterns
 * @param {string} text
 */
function matches(patterns, text) {
  return [...patterns].flatMap(([word, pattern]) => [...text.matchAll(pattern)].map(() => word));
}

/**
 * @param {string} file
 * @param {string} word
 */
function isAllowed(file, word) {
  return ALLOWED.some(({ files, words }) => files.test(file) && (words === 'all' || words.includes(word)));
}
