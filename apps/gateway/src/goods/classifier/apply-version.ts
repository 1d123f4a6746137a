import { Injectable } from '@nestjs/common';
import { Prisma, JobDatabase } from '#database';
import { ALL_MERCHANTS, CatalogNotices } from '../catalog/catalog-notices.js';
import { RunLost, type ImportKind, type ImportRun } from './import-runs.js';
import { lockVersions, writeVersion, type WrittenVersion } from './write-version.js';

export interface AppliedDrafts {
  run: ImportRun;
  kind: ImportKind;
  /** A person has checked: suspiciously many codes may end. */
  allowsFewer: boolean;
}

const TIMEOUT_MS = 20 * 60_000;

/**
 * Makes what a load has read the next version: all of it at once. What was there before is kept in the history, so that
 * a person can go back to it (go-back.ts).
 */
@Injectable()
export class ApplyVersion {
  constructor(
    private readonly prisma: JobDatabase,
    private readonly notices: CatalogNotices,
  ) {}

  /**
   * @throws UnreadableFile when it would end suspiciously many codes
   * @throws RunLost when another process has taken the load over: then its drafts may be gone, in part or altogether
   */
  async execute({ run, kind, allowsFewer }: AppliedDrafts): Promise<WrittenVersion> {
    const applied = await this.prisma.$transaction(
      async (tx) => {
        await lockVersions(tx);
        const result = await writeVersion(tx, mergedEntries(run.id, kind), {
          isWhole: isWhole(kind) && !allowsFewer,
        });
        // Codes out of force come without a time: with them the feed has been followed no further than before.
        const applied = await tx.$executeRaw`
          UPDATE classifier_imports i SET state = 'applied', finished_at = now(), cursor = NULL, error = NULL,
                 version = ${result.version}::int, result = ${JSON.stringify(result)}::jsonb,
                 reached_at = CASE WHEN ${kind !== 'inactive'}::boolean THEN i.started_at ELSE (
                   SELECT e.reached_at FROM classifier_imports e WHERE e.state = 'applied'
                    ORDER BY e.finished_at DESC, e.id DESC LIMIT 1) END
          WHERE id = ${run.id} AND claims = ${run.claims} AND state = 'loading'`;
        if (applied === 0) throw new RunLost();
        // Only a person can load after a person went back: fetching goes on.
        await tx.$executeRaw`UPDATE classifier_imports SET holds_fetching = false WHERE holds_fetching`;
        await tx.$executeRaw`DELETE FROM classifier_drafts WHERE import_id = ${run.id}`;
        return result;
      },
      { timeout: TIMEOUT_MS },
    );
    await this.notices.publish(ALL_MERCHANTS);
    return applied;
  }
}

function isWhole(kind: ImportKind): boolean {
  return kind === 'full' || kind === 'lines';
}

/** A full load is what is in force: it also ends what it does not have. The list of inactive codes adds none. */
function mergedEntries(importId: number, kind: ImportKind): Prisma.Sql {
  const ended = isWhole(kind)
    ? Prisma.sql`
        UNION ALL
        SELECT e.spic, e.name, e.packages, e.units, e.marked, e.cash_allowed, e.vat_percents, false, e.changed_at, e.word_keys
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
           coalesce(given.at, e.changed_at) AS changed_at,
           ARRAY(SELECT w::bigint FROM jsonb_array_elements_text(d.entry->'word_keys') w
                 UNION SELECT unnest(e.word_keys) ORDER BY 1) AS word_keys
      FROM classifier_drafts d LEFT JOIN classifier_entries e ON e.spic = d.spic
      -- A future time would shut out changes reported until then.
      CROSS JOIN LATERAL (
        SELECT CASE WHEN d.entry ? 'changed_at' THEN least((d.entry->>'changed_at')::timestamptz, now()) END AS at) given
     WHERE d.import_id = ${importId} ${onlyKnown}
       -- A feed that has gone back in time reports what was true once.
       AND NOT coalesce(given.at < e.changed_at, false) ${ended}`;
}
