import { Prisma } from '#database';
import { insertEvents } from '#ledger';
import { newId } from '#runtime';
import { UnreadableFile } from '../sheets/sheet-row.js';

export interface EntryCounts {
  added: number;
  changed: number;
  /** Of these, codes that are no longer in force. */
  ended: number;
}

export interface WrittenVersion extends EntryCounts {
  /** Null when nothing differed. */
  version: number | null;
  /** Products of all merchants. */
  affected: number;
}

/** Serialises versions; any number that no other lock has. */
const VERSION_LOCK = 0x434c; // "CL"
/** More than any sample has. */
const MANY_ENTRIES = 1_000;
/** One code of so many may end in one version before a person has to check: real ones end a few of a thousand. */
const ENDED_AT_MOST_ONE_OF = 10;
/** Skus that an event names; the list has all. */
const SKUS_PER_EVENT = 100;

/** The beginning of a transaction that may take many minutes: only one version is written at a time. */
export async function lockVersions(tx: Prisma.TransactionClient): Promise<void> {
  await tx.$executeRaw`SET LOCAL statement_timeout = 0`;
  await tx.$executeRaw`SET LOCAL lock_timeout = '60s'`;
  // It may take minutes until merchants' events are written, and an old transaction may not write its first one.
  await tx.$executeRaw(insertEvents(Prisma.sql`SELECT '', '', '', '', '{}'::jsonb WHERE false`));
  await tx.$executeRaw`SELECT pg_advisory_xact_lock(${VERSION_LOCK}::int4, 0)`;
}

/**
 * Makes `merged` the next version: entries that differ, the history of what they were, and the events of merchants.
 * @param merged rows of spic, name, packages, units, marked, cash_allowed, vat_percents, active, changed_at and word_keys
 * @param isWhole the source claims to have every code: it is refused when it would end suspiciously many
 * @throws UnreadableFile
 */
export async function writeVersion(
  tx: Prisma.TransactionClient,
  merged: Prisma.Sql,
  { isWhole }: { isWhole: boolean },
): Promise<WrittenVersion> {
  const next = await nextVersion(tx);
  const counts = await writeEntries(tx, next, merged);
  if (isWhole) await refuseCutOff(tx, counts.ended);
  const version = counts.added + counts.changed > 0 ? next : null;
  return { version, ...counts, affected: version === null ? 0 : await notifyMerchants(tx, version) };
}

/** A tenth of a register does not end in one day: more likely the source was cut off. A sample may be replaced. */
async function refuseCutOff(tx: Prisma.TransactionClient, ended: number): Promise<void> {
  const [row] = await tx.$queryRaw<{ active: number }[]>`
    SELECT count(*)::int AS active FROM classifier_entries WHERE active`;
  const before = (row?.active ?? 0) + ended;
  if (before >= MANY_ENTRIES && ended * ENDED_AT_MOST_ONE_OF > before)
    throw new UnreadableFile(
      `It would end ${ended} of ${before} codes in force, as if it were cut off; nothing was changed.`,
    );
}

async function nextVersion(tx: Prisma.TransactionClient): Promise<number> {
  const [row] = await tx.$queryRaw<{ next: number }[]>`
    SELECT greatest((SELECT max(version) FROM classifier_entries), (SELECT max(version) FROM classifier_imports), 0) + 1 AS next`;
  if (!row) throw new Error('the database did not return a version');
  return row.next;
}

async function writeEntries(tx: Prisma.TransactionClient, version: number, merged: Prisma.Sql): Promise<EntryCounts> {
  const [counts] = await tx.$queryRaw<EntryCounts[]>`
    WITH merged AS (${merged}),
    changed AS MATERIALIZED (
      SELECT m.*, to_jsonb(e) - 'word_keys' AS before FROM merged m LEFT JOIN classifier_entries e ON e.spic = m.spic
       WHERE e.spic IS NULL
          OR (m.name, m.packages, m.units, m.marked, m.cash_allowed, m.vat_percents, m.active)
             IS DISTINCT FROM (e.name, e.packages, e.units, e.marked, e.cash_allowed, e.vat_percents, e.active)),
    history AS (
      INSERT INTO classifier_history (spic, replaced_in, entry) SELECT spic, ${version}, before FROM changed),
    written AS (
      INSERT INTO classifier_entries
        (spic, name, packages, units, marked, cash_allowed, vat_percents, active, changed_at, word_keys, version)
      SELECT spic, name, packages, units, marked, cash_allowed, vat_percents, active, changed_at, word_keys, ${version}
        FROM changed
      ON CONFLICT (spic) DO UPDATE SET
        name = excluded.name, packages = excluded.packages, units = excluded.units, marked = excluded.marked,
        cash_allowed = excluded.cash_allowed, vat_percents = excluded.vat_percents, active = excluded.active,
        changed_at = excluded.changed_at, word_keys = excluded.word_keys, version = excluded.version)
    SELECT count(*) FILTER (WHERE before IS NULL)::int AS added,
           count(*) FILTER (WHERE before IS NOT NULL)::int AS changed,
           count(*) FILTER (WHERE NOT active AND (before->>'active')::boolean)::int AS ended
      FROM changed`;
  return counts ?? { added: 0, changed: 0, ended: 0 };
}

/** @returns how many products of all merchants are affected */
async function notifyMerchants(tx: Prisma.TransactionClient, version: number): Promise<number> {
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
    await tx.$executeRaw(
      insertEvents(Prisma.sql`
        SELECT n.id, n.merchant_id, 'catalog.product_affected', ${`classifier:${version}`}, n.data
          FROM jsonb_to_recordset(${JSON.stringify(events)}::jsonb) AS n(id text, merchant_id text, data jsonb)`),
    );
  }
  return merchants.reduce((sum, { products }) => sum + products, 0);
}
