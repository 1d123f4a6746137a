import { Injectable } from '@nestjs/common';
import { Prisma, PrismaService } from '#database';
import { newId } from '#runtime';
import { UnreadableFile } from '../sheets/sheet-row.js';
import { ALL_MERCHANTS, CatalogNotices } from '../catalog/catalog-notices.js';

export type ImportKind = 'full' | 'inactive' | 'changes' | 'lines';

export interface AppliedVersion {
  /** Null when nothing differed. */
  version: number | null;
  added: number;
  changed: number;
  /** Of these, codes that are no longer in force. */
  ended: number;
  /** Products of all merchants. */
  affected: number;
}

/** Serialises versions; any number that no other lock has. */
const VERSION_LOCK = 0x434c; // "CL"
const TIMEOUT_MS = 20 * 60_000;
/** More than any sample has. */
const MANY_ENTRIES = 10_000;
/** Skus that an event names; the list has all. */
const SKUS_PER_EVENT = 100;

/**
 * Makes what a load has read the next version: all of it at once. What was there before is kept in the history, so the previous
 * version can still be told.
 */
@Injectable()
export class ApplyVersion {
  constructor(
    private readonly prisma: PrismaService,
    private readonly notices: CatalogNotices,
  ) {}

  async execute(importId: number, kind: ImportKind): Promise<AppliedVersion> {
    const applied = await this.prisma.$transaction(
      async (tx) => {
        await tx.$executeRaw`SET LOCAL statement_timeout = 0`;
        await tx.$executeRaw`SET LOCAL lock_timeout = '60s'`;
        await tx.$executeRaw`SELECT pg_advisory_xact_lock(${VERSION_LOCK}::int4, 0)`;
        const next = await nextVersion(tx);
        const counts = await writeEntries(tx, { importId, kind, version: next });
        if (isWhole(kind)) await refuseCutOff(tx, counts.ended);
        const version = counts.added + counts.changed > 0 ? next : null;
        const affected = version === null ? 0 : await tellMerchants(tx, version);
        const result = { version, ...counts, affected };
        await tx.$executeRaw`
          UPDATE classifier_imports SET state = 'applied', finished_at = now(), cursor = NULL, error = NULL,
                 version = ${version}::int, result = ${JSON.stringify(result)}::jsonb
          WHERE id = ${importId}`;
        await tx.$executeRaw`DELETE FROM classifier_drafts WHERE import_id = ${importId}`;
        return result;
      },
      { timeout: TIMEOUT_MS, maxWait: 10_000 },
    );
    await this.notices.tell(ALL_MERCHANTS);
    return applied;
  }
}

function isWhole(kind: ImportKind): boolean {
  return kind === 'full' || kind === 'lines';
}

/** Half of a register does not end in one day: more likely the source was cut off. A sample may be replaced by the register. */
async function refuseCutOff(tx: Prisma.TransactionClient, ended: number): Promise<void> {
  const [row] = await tx.$queryRaw<{ active: number }[]>`
    SELECT count(*)::int AS active FROM classifier_entries WHERE active`;
  const before = (row?.active ?? 0) + ended;
  if (before > MANY_ENTRIES && ended * 2 > before)
    throw new UnreadableFile(`The source would end ${ended} of ${before} codes; nothing was taken over.`);
}

async function nextVersion(tx: Prisma.TransactionClient): Promise<number> {
  const [row] = await tx.$queryRaw<{ next: number }[]>`
    SELECT greatest((SELECT max(version) FROM classifier_entries), (SELECT max(version) FROM classifier_imports), 0) + 1 AS next`;
  if (!row) throw new Error('the database did not tell a version');
  return row.next;
}

/** A full load is what is in force: it also ends what it does not have. The list of inactive codes adds none. */
function mergedEntries(importId: number, kind: ImportKind): Prisma.Sql {
  const ended = isWhole(kind)
    ? Prisma.sql`
        UNION ALL
        SELECT e.spic, e.name, e.packages, e.units, e.marked, e.cash_allowed, e.vat_percents, false, e.word_keys
          FROM classifier_entries e
         WHERE e.active AND NOT EXISTS (SELECT FROM classifier_drafts d WHERE d.import_id = ${importId} AND d.spic = e.spic)`
    : Prisma.empty;
  const onlyKnown = kind === 'inactive' ? Prisma.sql`AND e.spic IS NOT NULL` : Prisma.empty;
  return Prisma.sql`
    SELECT d.spic,
           coalesce(e.name, '{}') || coalesce(d.entry->'name', '{}') AS name,
           coalesce(d.entry->'packages', e.packages, '[]') AS packages,
           coalesce((d.entry->>'units')::int, e.units, 796) AS units,
           coalesce((d.entry->>'marked')::boolean, e.marked, false) AS marked,
           coalesce((d.entry->>'cash_allowed')::boolean, e.cash_allowed, true) AS cash_allowed,
           coalesce((SELECT array_agg(v::smallint) FROM jsonb_array_elements_text(d.entry->'vat_percents') v),
                    e.vat_percents, '{0,12}') AS vat_percents,
           coalesce((d.entry->>'active')::boolean, ${isWhole(kind)}::boolean OR e.active, true) AS active,
           ARRAY(SELECT w::bigint FROM jsonb_array_elements_text(d.entry->'word_keys') w
                 UNION SELECT unnest(e.word_keys) ORDER BY 1) AS word_keys
      FROM classifier_drafts d LEFT JOIN classifier_entries e ON e.spic = d.spic
     WHERE d.import_id = ${importId} ${onlyKnown} ${ended}`;
}

async function writeEntries(
  tx: Prisma.TransactionClient,
  { importId, kind, version }: { importId: number; kind: ImportKind; version: number },
): Promise<{ added: number; changed: number; ended: number }> {
  const [counts] = await tx.$queryRaw<{ added: number; changed: number; ended: number }[]>`
    WITH merged AS (${mergedEntries(importId, kind)}),
    changed AS MATERIALIZED (
      SELECT m.*, to_jsonb(e) - 'word_keys' AS before FROM merged m LEFT JOIN classifier_entries e ON e.spic = m.spic
       WHERE e.spic IS NULL
          OR (m.name, m.packages, m.units, m.marked, m.cash_allowed, m.vat_percents, m.active)
             IS DISTINCT FROM (e.name, e.packages, e.units, e.marked, e.cash_allowed, e.vat_percents, e.active)),
    history AS (
      INSERT INTO classifier_history (spic, replaced_in, entry) SELECT spic, ${version}, before FROM changed),
    written AS (
      INSERT INTO classifier_entries (spic, name, packages, units, marked, cash_allowed, vat_percents, active, word_keys, version)
      SELECT spic, name, packages, units, marked, cash_allowed, vat_percents, active, word_keys, ${version} FROM changed
      ON CONFLICT (spic) DO UPDATE SET
        name = excluded.name, packages = excluded.packages, units = excluded.units, marked = excluded.marked,
        cash_allowed = excluded.cash_allowed, vat_percents = excluded.vat_percents, active = excluded.active,
        word_keys = excluded.word_keys, version = excluded.version)
    SELECT count(*) FILTER (WHERE before IS NULL)::int AS added,
           count(*) FILTER (WHERE before IS NOT NULL)::int AS changed,
           count(*) FILTER (WHERE NOT active AND (before->>'active')::boolean)::int AS ended
      FROM changed`;
  return counts ?? { added: 0, changed: 0, ended: 0 };
}

/** @returns how many products are affected */
async function tellMerchants(tx: Prisma.TransactionClient, version: number): Promise<number> {
  await tx.$executeRaw`
    INSERT INTO affected_products (merchant_id, version, sku, spic, reasons)
    SELECT merchant_id, ${version}, sku, spic, reasons FROM (
      SELECT p.merchant_id, p.sku, p.spic, array_remove(ARRAY[
               CASE WHEN NOT e.active AND (h.entry->>'active')::boolean THEN 'inactive' END,
               CASE WHEN NOT e.packages @> own.package AND h.entry->'packages' @> own.package THEN 'package_removed' END,
               CASE WHEN e.marked AND NOT (h.entry->>'marked')::boolean THEN 'now_marked' END,
               CASE WHEN NOT e.cash_allowed AND (h.entry->>'cash_allowed')::boolean THEN 'cash_forbidden' END], NULL) AS reasons
        FROM classifier_history h
        JOIN classifier_entries e ON e.spic = h.spic
        JOIN products p ON p.spic = h.spic AND p.archived_at IS NULL
        CROSS JOIN LATERAL (SELECT jsonb_build_array(jsonb_build_object('code', p.package_code)) AS package) own
       WHERE h.replaced_in = ${version} AND h.entry IS NOT NULL) touched
     WHERE reasons <> '{}'`;
  const merchants = await tx.$queryRaw<{ merchant_id: string; products: number; skus: string[] }[]>`
    SELECT merchant_id, count(*)::int AS products, (array_agg(sku ORDER BY sku))[1:${SKUS_PER_EVENT}::int] AS skus
      FROM affected_products WHERE version = ${version} GROUP BY merchant_id`;
  const events = merchants.map(({ merchant_id: merchantId, products, skus }) => ({
    id: newId('evt'),
    merchant_id: merchantId,
    data: { classifier_version: version, products, skus },
  }));
  if (events.length > 0) {
    await tx.$executeRaw`
      INSERT INTO events (id, merchant_id, type, subject_id, data)
      SELECT n.id, n.merchant_id, 'catalog.product_affected', ${`classifier:${version}`}, n.data
        FROM jsonb_to_recordset(${JSON.stringify(events)}::jsonb) AS n(id text, merchant_id text, data jsonb)`;
  }
  return merchants.reduce((sum, { products }) => sum + products, 0);
}
