import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database';

/** Words that one typed word may stand for, at most. */
const MAX_BEGINNINGS = 64;
const MAX_LIKE = 24;
/** Of these by similarity, those within the distance are kept. */
const READ_AT_ONCE = 100;
/** A slip in a short word leaves too few of its trigrams: these are also searched by their first letter. */
const SHORT = 5;
/** In shorter words a slip makes another word. */
const MIN_LENGTH_FOR_SLIPS = 3;

/** Finds words of the vocabulary, of products and classification entries alike, that a typed word may have meant. */
@Injectable()
export class SimilarWords {
  constructor(private readonly prisma: PrismaService) {}

  /** @param word as wordsOf gives it: letters and digits only, so nothing in it is special to LIKE */
  async beginningWith(word: string): Promise<string[]> {
    const rows = await this.prisma.$queryRaw<{ word: string }[]>`
      SELECT word FROM catalog_words WHERE word LIKE ${`${word}%`} ORDER BY length(word), word LIMIT ${MAX_BEGINNINGS}`;
    return rows.map((row) => row.word);
  }

  /** Those that begin with it, and those that are one or two slips away. */
  async like(word: string): Promise<string[]> {
    const beginnings = await this.beginningWith(word);
    // A slip in a number is another number.
    if (word.length < MIN_LENGTH_FOR_SLIPS || /\p{N}/u.test(word)) return beginnings;
    const allowed = word.length <= 4 ? 1 : 2;
    const rows = await this.prisma.$queryRaw<{ word: string }[]>`
      (SELECT word FROM catalog_words WHERE word % ${word} ORDER BY similarity(word, ${word}) DESC, word LIMIT ${READ_AT_ONCE})
      UNION
      (SELECT word FROM catalog_words
        WHERE ${word.length <= SHORT} AND word LIKE ${`${word.slice(0, 1)}%`}
          AND length(word) BETWEEN ${word.length - allowed} AND ${word.length + allowed}
        ORDER BY similarity(word, ${word}) DESC, word LIMIT ${READ_AT_ONCE})`;
    const near = rows
      .map((row) => ({ known: row.word, slips: slipsBetween(word, row.word, allowed) }))
      .filter(({ slips }) => slips <= allowed)
      .sort((a, b) => a.slips - b.slips || (a.known < b.known ? -1 : 1))
      .map(({ known }) => known);
    return [...new Set([...near.slice(0, MAX_LIKE), ...beginnings])];
  }
}

/**
 * How many letters were added, left out, swapped or mistaken (optimal string alignment), counted no further than one
 * above `most`.
 */
export function slipsBetween(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let [older, old] = [[] as number[], Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const isSame = a[row - 1] === b[column - 1];
      const steps = [(old[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, (old[column - 1] ?? 0) + (isSame ? 0 : 1)];
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1])
        steps.push((older[column - 2] ?? 0) + 1);
      current.push(Math.min(...steps));
    }
    [older, old] = [old, current];
  }
  return Math.min(old[b.length] ?? 0, most + 1);
}
