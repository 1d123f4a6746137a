import { Prisma } from '#database';
import type { Rank } from './ranked-search.js';
import type { SimilarWords } from './similar-words.js';
import { wordKey, wordsOf } from './words.js';

/** Ranks of a text's words over a column `word_keys`: as typed, as beginnings, with a slip of the hand. */
export function wordRanks(scope: string, text: string, similar: SimilarWords): Rank[] {
  const words = wordsOf([text]);
  const all = (groups: readonly string[][]): Prisma.Sql | null => {
    if (groups.length === 0 || groups.some((group) => group.length === 0)) return null;
    const conditions = groups.map((group) => {
      const keys = group.map((word) => String(wordKey(scope, word)));
      return Prisma.sql`word_keys && ${keys}::text[]::bigint[]`;
    });
    return Prisma.join(conditions, ' AND ', '(', ')');
  };
  return [
    () => Promise.resolve(all(words.map((word) => [word]))),
    async () => all(await Promise.all(words.map((word) => similar.beginningWith(word)))),
    async () => all(await Promise.all(words.map((word) => similar.like(word)))),
  ];
}
