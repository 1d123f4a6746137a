import { Injectable } from '@nestjs/common';
import { Prisma, PrismaService } from '#database';
import { growingCache } from '#runtime';

const MAX_KNOWN = 100_000;
const WORDS_PER_STATEMENT = 5_000;

/** The vocabulary that mistyped words of a search are compared with. It only grows: a word too many finds nothing. */
@Injectable()
export class CatalogWords {
  /** Words that are there for certain. */
  private readonly known = growingCache<string, true>(MAX_KNOWN);

  constructor(private readonly prisma: PrismaService) {}

  /**
   * To be called before the transaction that writes what has the words: in it, two writers of the same new word would
   * wait for each other's commit, and deadlock over two.
   */
  async add(words: Iterable<string>): Promise<void> {
    const fresh = [...new Set(words)].filter((word) => !this.known.has(word)).sort();
    for (let start = 0; start < fresh.length; start += WORDS_PER_STATEMENT) {
      const some = fresh.slice(start, start + WORDS_PER_STATEMENT);
      // As in drafts.ts: Prisma's client would keep the words of its last statements.
      await this.prisma.queryHot(
        Prisma.sql`INSERT INTO catalog_words (word) SELECT unnest(${some}::text[]) ON CONFLICT DO NOTHING`,
      );
      for (const word of some) this.known.set(word, true);
    }
  }
}
