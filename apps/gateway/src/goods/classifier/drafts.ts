import { Injectable } from '@nestjs/common';
import { Prisma, PrismaService } from '#database';
import { CatalogWords } from '../catalog/catalog-words.js';
import { CLASSIFIER_SCOPE, wordKey, wordsOf } from '../catalog/words.js';
import { mergePatches, type EntryPatch } from './entry-patch.js';

/** What a load has read so far, kept in the database: a load that is cut off goes on with it. */
@Injectable()
export class Drafts {
  constructor(
    private readonly prisma: PrismaService,
    private readonly words: CatalogWords,
  ) {}

  async clear(importId: number): Promise<void> {
    await this.prisma.$executeRaw`DELETE FROM classifier_drafts WHERE import_id = ${importId}`;
  }

  /**
   * @param addPackages packages of several rows add up (a file has a row per package); else the later says all of them.
   *   Adding the same again changes nothing: a stage may be repeated
   */
  async add(importId: number, patches: readonly EntryPatch[], options: { addPackages: boolean }): Promise<void> {
    const merged = new Map<string, EntryPatch>();
    for (const patch of patches) {
      const known = merged.get(patch.spic);
      merged.set(patch.spic, known ? mergePatches(known, patch, options) : patch);
    }
    const words = new Set<string>();
    const rows = [...merged.values()]
      .sort((a, b) => (a.spic < b.spic ? -1 : 1))
      .map((patch) => {
        const own = wordsOf(Object.values(patch.name) as string[]);
        for (const word of own) words.add(word);
        const keys = own.map((word) => String(wordKey(CLASSIFIER_SCOPE, word)));
        return { spic: patch.spic, entry: { ...patch, ...sortedPackages(patch), word_keys: keys } };
      });
    await this.words.add(words);
    // Round Prisma's client: it keeps the parameters of its last hundred log lines, also of those that were not asked for.
    await this.prisma.queryHot(Prisma.sql`
      INSERT INTO classifier_drafts AS d (import_id, spic, entry)
      SELECT ${importId}::int, n.spic, n.entry
        FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS n(spic text, entry jsonb)
      ON CONFLICT (import_id, spic) DO UPDATE SET entry =
        d.entry || excluded.entry
        || jsonb_build_object('name', d.entry->'name' || (excluded.entry->'name'),
                              'word_keys', d.entry->'word_keys' || (excluded.entry->'word_keys'))
        || CASE WHEN ${options.addPackages}::boolean AND d.entry ? 'packages' AND excluded.entry ? 'packages'
                THEN jsonb_build_object('packages', (
                  SELECT jsonb_agg(DISTINCT p) FROM jsonb_array_elements(d.entry->'packages' || (excluded.entry->'packages')) p))
                ELSE '{}'::jsonb END`);
  }
}

/** In one order, whatever that of the source: a package that only moved is no change. jsonb sorts them alike. */
function sortedPackages({ packages }: EntryPatch): Pick<EntryPatch, 'packages'> {
  return packages ? { packages: [...packages].sort((a, b) => (a.code < b.code ? -1 : 1)) } : {};
}
