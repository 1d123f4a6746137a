// Promise: a translation has the commands, codes and words of its original, and one that is older than its original is found.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  blocksOf,
  codeNames,
  digestOf,
  LANGUAGES,
  recorded,
  translationFault,
  translations,
  wordsOf,
} from '../../scripts/lib/translations.mjs';

const read = (file: string): string => readFileSync(join(process.cwd(), file), 'utf8');
const all = translations();
/** Its second column is the language's own, and says more than the original. */
const IS_GLOSSARY = /\/glossary\.md$/;

test('the pages with which people begin are there in every language', () => {
  const begun = ['quickstart.md', 'glossary.md', 'cashier.md', 'operator.md'];
  const wanted = LANGUAGES.flatMap((language) => begun.map((page) => `docs/${language}/${page}`));
  expect(all.map(({ page }) => page)).toEqual(expect.arrayContaining(wanted));
  expect(LANGUAGES.filter((language) => !existsSync(`docs/${language}/index.md`))).toEqual([]);
});

test('no translation is older than its original, unless it says so (node scripts/translations.mjs)', () => {
  expect(
    all.map((one) => translationFault(one, digestOf(read(one.original)))).filter((fault) => fault !== null),
  ).toEqual([]);
});

test.each(all)('$page has the commands and the names of code of its original', ({ page, original, saysSo }) => {
  if (saysSo) return;
  expect(blocksOf(read(page))).toEqual(blocksOf(read(original)));
  if (IS_GLOSSARY.test(page)) expect(wordsOf(read(page))).toEqual(wordsOf(read(original)));
  expect(codeNames(read(page))).toEqual(codeNames(read(original)));
});

test('a changed original, a changed command, a lost code and a lost word are found', () => {
  const text = `---\noriginal_digest: ${digestOf('old')}\n---\n\n# T\n`;
  const one = { page: 'ru/x', original: 'x', ...recorded(text) };
  expect(translationFault(one, digestOf('old'))).toBeNull();
  expect(translationFault(one, digestOf('new'))).toContain('ru/x is older than x');
  expect(translationFault({ ...one, saysSo: true }, digestOf('new'))).toBeNull();
  expect(translationFault({ ...one, saysSo: true }, digestOf('old'))).toContain('is not');
  expect(blocksOf('a\n```sh\nfgw doctor\n```\n')).not.toEqual(blocksOf('b\n```sh\nfgw doctr\n```\n'));
  expect(codeNames('a `E-003` b\n```\n`x`\n```\n')).toEqual(['E-003']);
  expect(wordsOf('# T\n\n| W | M |\n|---|---|\n| lane | x |\n| lease | y |\n\n| Z | |\n|---|---|\n| no | |\n')).toEqual(
    ['lane', 'lease'],
  );
});
