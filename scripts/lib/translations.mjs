import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

import { ROOT } from './paths.mjs';

/** The languages beside English, by their folder below docs/. */
export const LANGUAGES = ['ru', 'uz'];

/**
 * @typedef {object} Translation
 * @property {string} page
 * @property {string} original the page that it translates
 * @property {string} digest of the original, as it was when it was translated
 * @property {boolean} saysSo whether the page itself says that it is older than its original
 */

/** Every translated page; a language's index is written for that language and translates nothing. @returns {Translation[]} */
export function translations() {
  return LANGUAGES.flatMap((language) => {
    const folder = path.join(ROOT, 'docs', language);
    const pages = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.md'));
    return pages
      .filter((file) => file !== 'index.md')
      .map((file) => {
        const page = path.posix.join('docs', language, file);
        return {
          page,
          original: path.posix.join('docs', file),
          ...recorded(fs.readFileSync(path.join(ROOT, page), 'utf8')),
        };
      });
  });
}

/** The digest that a translation records. @param {string} text of the original */
export function digestOf(text) {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/**
 * Why a translation must not stay as it is; null when it may.
 * @param {Translation} translation
 * @param {string} now the digest of the original
 */
export function translationFault({ page, original, digest, saysSo }, now) {
  if (digest === now) return saysSo ? `${page} says that it is outdated, and is not` : null;
  if (saysSo) return null;
  return `${page} is older than ${original}: translate what changed and run node scripts/translations.mjs ${page}, or write "outdated: true" into it`;
}

/** @param {string} text of a translation */
export function recorded(text) {
  const [, matter = ''] = /^---\n([\s\S]*?)\n---\n/.exec(text) ?? [];
  return { digest: /^original_digest: (\w+)$/m.exec(matter)?.[1] ?? '', saysSo: /^outdated: true$/m.test(matter) };
}

/**
 * What must be the same in every language: commands and other blocks of code.
 * @param {string} text
 */
export function blocksOf(text) {
  return [...text.matchAll(/^```[\s\S]*?^```$/gm)].map(([block]) => block);
}

/** Names of code within sentences, each as often as it stands there, in order. @param {string} text */
export function codeNames(text) {
  const prose = text.replace(/^```[\s\S]*?^```$/gm, '');
  return [...prose.matchAll(/`([^`\n]+)`/g)].map(([, name]) => name ?? '').sort();
}

/** The first column of a page's first table. @param {string} text */
export function wordsOf(text) {
  const [table = ''] = /(?:^\|.*\|\n)+/m.exec(text) ?? [];
  return table
    .split('\n')
    .slice(2)
    .map((row) => row.split('|')[1]?.trim() ?? '')
    .filter((word) => word !== '');
}
