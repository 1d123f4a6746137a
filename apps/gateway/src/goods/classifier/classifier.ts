import { Injectable } from '@nestjs/common';
import { Prisma, PrismaService } from '#database';
import type { ClassifierEntry } from '#fiscal-domain';
import { pageBy, type Page } from '../../http/paging.js';
import { isText, readCursor, writeCursor } from '../catalog/cursors.js';
import {
  searchByRank,
  WALKED_ROWS,
  walkThenGather,
  type Rank,
  type RankSearch,
  type RankedPlace,
} from '../catalog/ranked-search.js';
import { SimilarWords } from '../catalog/similar-words.js';
import { wordRanks } from '../catalog/word-conditions.js';
import { CLASSIFIER_SCOPE } from '../catalog/words.js';
import { notFound } from '../../http/own-id.js';

interface EntryRow extends Omit<ClassifierEntry, 'name'> {
  name: Partial<ClassifierEntry['name']>;
}

export interface AffectedView {
  sku: string;
  spic: string;
  /** inactive, package_removed, now_marked, cash_forbidden */
  reasons: string[];
  classifier_version: number;
  at: string;
}

const FIRST: RankedPlace = [0, ''];
const ENTRIES_PER_READ = 2_000;
/** The beginning of a code; of all of them when it is empty. */
const IS_CODE = /^\d{0,17}$/;
const COLUMNS = Prisma.raw(
  'e.spic, e.name, e.packages, e.units, e.marked, e.cash_allowed, e.vat_percents, e.active, e.version',
);

/** The national classification register as it is in force here. The same for all merchants, and read-only. */
@Injectable()
export class Classifier {
  constructor(
    private readonly prisma: PrismaService,
    private readonly similar: SimilarWords,
  ) {}

  /** @throws Problem 404 */
  async get(spic: string): Promise<ClassifierEntry> {
    const rows = /^\d{17}$/.test(spic)
      ? await this.prisma.$queryRaw<EntryRow[]>`SELECT ${COLUMNS} FROM classifier_entries e WHERE spic = ${spic}`
      : [];
    if (!rows[0]) throw notFound('code in the classification register');
    return entryView(rows[0]);
  }

  /**
   * By words of any language, or by the beginning of a code.
   * @throws Problem 422 for a cursor that is none of this list
   */
  async search(
    text: string | null,
    { limit, cursor, onlyActive }: { limit: number; cursor: string | null; onlyActive: boolean },
  ): Promise<Page<ClassifierEntry>> {
    const place = cursor === null ? FIRST : readCursor<RankedPlace>(cursor, isPlace);
    const words = text?.trim() ?? '';
    const hits = await searchByRank(this.ranksOf(words), place, limit, (search) =>
      this.read(search, { onlyActive, areWords: !IS_CODE.test(words) }),
    );
    return pageBy(
      hits,
      limit,
      ({ row }) => entryView(row),
      ({ rank, row }) => writeCursor([rank, row.spic]),
    );
  }

  /** The newest version; 0 = there is no register yet. */
  async version(): Promise<number> {
    const [row] = await this.prisma.$queryRaw<{ version: number | null }[]>`
      SELECT max(version) AS version FROM classifier_entries`;
    return row?.version ?? 0;
  }

  /**
   * All entries as JSON lines (docs/catalog.md), in memory that does not grow. Each carries its own version.
   * @param version as of which: what a version that comes meanwhile replaces is given as it was. Otherwise a reader that takes
   *   the newest version among the lines for its own would assume entries that it was not given.
   */
  async *export(version: number): AsyncGenerator<string, void, undefined> {
    for (let after = ''; ;) {
      const rows = await this.prisma.$queryRaw<(EntryRow & { replaced: EntryRow | null })[]>`
        SELECT ${COLUMNS}, h.entry AS replaced
          FROM classifier_entries e
          LEFT JOIN LATERAL (SELECT entry FROM classifier_history old WHERE old.spic = e.spic
                                AND old.replaced_in > ${version}::int ORDER BY old.replaced_in LIMIT 1) h
            ON e.version > ${version}::int
         WHERE e.spic > ${after} ORDER BY e.spic LIMIT ${ENTRIES_PER_READ}`;
      const last = rows.at(-1);
      if (!last) return;
      after = last.spic;
      const asOf = rows.flatMap((row) => (row.version <= version ? row : (row.replaced ?? [])));
      yield asOf.map((row) => `${JSON.stringify(entryView(row))}\n`).join('');
    }
  }

  /** The merchant's products that versions of the register have touched, newest version first. */
  async affected(
    merchantId: string,
    { limit, cursor, version }: { limit: number; cursor: string | null; version: number | null },
  ): Promise<Page<AffectedView>> {
    const [below, after] =
      cursor === null
        ? [2_147_483_647, '']
        : readCursor<readonly [number, string]>(
            cursor,
            ([number, sku]) => Number.isInteger(number) && Math.abs(Number(number)) < 2 ** 31 && isText(sku),
          );
    const rows = await this.prisma.$queryRaw<(Omit<AffectedView, 'at'> & { at: Date })[]>`
      SELECT sku, spic, reasons, version AS classifier_version, at FROM affected_products
      WHERE merchant_id = ${merchantId} AND (${version}::int IS NULL OR version = ${version}::int)
        AND (version < ${below}::int OR (version = ${below}::int AND sku > ${after}))
      ORDER BY version DESC, sku LIMIT ${limit + 1}`;
    const view = (row: (typeof rows)[number]): AffectedView => ({ ...row, at: row.at.toISOString() });
    return pageBy(rows, limit, view, (last) => writeCursor([last.classifier_version, last.sku]));
  }

  /** @param areWords else the condition is a range of codes, which stands in their order */
  private read(
    { condition, before, after, limit }: RankSearch,
    { onlyActive, areWords }: { onlyActive: boolean; areWords: boolean },
  ): Promise<EntryRow[]> {
    const conditions = [
      condition,
      ...before.map((earlier) => Prisma.sql`NOT (${earlier})`),
      ...(onlyActive ? [Prisma.sql`active`] : []),
    ];
    const [place, hit] = [Prisma.sql`spic > ${after}`, Prisma.join(conditions, ' AND ')];
    const select = (from: Prisma.Sql, order: Prisma.Sql): Promise<EntryRow[]> => this.prisma.$queryRaw<EntryRow[]>`
      SELECT ${COLUMNS} FROM ${from} e WHERE ${place} AND ${hit} ORDER BY ${order} LIMIT ${limit}`;
    const [all, byCode] = [Prisma.sql`classifier_entries`, Prisma.sql`spic`];
    if (!areWords) return select(all, byCode);
    const next = Prisma.sql`(SELECT * FROM classifier_entries WHERE ${place} ORDER BY spic LIMIT ${WALKED_ROWS})`;
    return walkThenGather(
      limit,
      () => select(next, byCode),
      () => select(all, Prisma.sql`spic || ''`),
    );
  }

  private ranksOf(text: string): Rank[] {
    if (text === '') return [() => Promise.resolve(Prisma.sql`TRUE`)];
    if (!IS_CODE.test(text)) return wordRanks(CLASSIFIER_SCOPE, text, this.similar);
    const [from, to] = [text.padEnd(17, '0'), text.padEnd(17, '9')];
    return [() => Promise.resolve(Prisma.sql`spic BETWEEN ${from} AND ${to}`)];
  }
}

/** A language that no source has given shows the one that there is. */
function entryView({ name, ...row }: EntryRow): ClassifierEntry {
  const any = name.ru ?? name.uz ?? name.en ?? '';
  const names = { ru: name.ru ?? any, uz: name.uz ?? any, en: name.en ?? any };
  const { spic, packages, units, marked, cash_allowed, vat_percents, active, version } = row;
  return { spic, name: names, packages, units, marked, cash_allowed, vat_percents, active, version };
}

function isPlace(parts: readonly unknown[]): boolean {
  const [rank, spic] = parts;
  return parts.length === 2 && typeof rank === 'number' && [0, 1, 2].includes(rank) && isText(spic);
}
