import { Injectable } from '@nestjs/common';
import { Prisma, JobDatabase } from '#database';
import { AuditTrail } from '../../audit/audit-trail.js';
import type { Caller } from '../../audit/caller.js';
import { ALL_MERCHANTS, CatalogNotices } from '../catalog/catalog-notices.js';
import { UnreadableFile } from '../sheets/sheet-row.js';
import { ImportRuns, RunLost, type ImportRun } from './import-runs.js';
import { contentInForce, restorable, type ContentInForce } from './versions-kept.js';
import { lockVersions, writeVersion, type WrittenVersion } from './write-version.js';

/** A person at the machine; the register belongs to no merchant. */
export type Operator = Omit<Caller, 'merchantId'>;

export interface BackRequest {
  /** The version whose content is wanted; null = the one before what is in force. */
  to: number | null;
  reason: string;
}

export type BackOutcome =
  | ({ kind: 'applied'; importId: number; restored: number } & WrittenVersion)
  /** A load goes on. */
  | { kind: 'busy' }
  /** Nothing was changed. */
  | { kind: 'refused'; reason: string };

export type BegunBack = { kind: 'begun'; importId: number; finish: () => Promise<BackOutcome> } | { kind: 'busy' };

class Refused extends Error {}

const TIMEOUT_MS = 20 * 60_000;

/**
 * Puts the content of an earlier version in force again, as a new version: readers who ask what is newer see it like any
 * other, merchants are notified of the products it touches, and it stands on every merchant's trail. Nothing is fetched by
 * itself afterwards until a person says so: the source would at once bring back what was just taken out of force.
 */
@Injectable()
export class GoBack {
  constructor(
    private readonly runs: ImportRuns,
    private readonly prisma: JobDatabase,
    private readonly trail: AuditTrail,
    private readonly notices: CatalogNotices,
  ) {}

  async execute(operator: Operator, request: BackRequest): Promise<BackOutcome> {
    const begun = await this.begin(operator, request);
    return begun.kind === 'begun' ? begun.finish() : begun;
  }

  /** Why the request would change nothing, as it stands now; null: nothing speaks against it. */
  async objectionTo({ to }: BackRequest): Promise<string | null> {
    try {
      await targetOf(this.prisma, await contentInForce(this.prisma), to);
      return null;
    } catch (error) {
      if (error instanceof Refused) return error.message;
      throw error;
    }
  }

  /** Takes the place of a load; `finish` does the work, which takes minutes where versions differ much. */
  async begin(operator: Operator, request: BackRequest): Promise<BegunBack> {
    const claimed = await this.runs.claim('back', request.to === null ? 'previous' : `version ${request.to}`);
    if (claimed.kind !== 'claimed') return { kind: 'busy' };
    const { run } = claimed;
    return { kind: 'begun', importId: run.id, finish: () => this.finish(run, operator, request) };
  }

  private async finish(run: ImportRun, operator: Operator, request: BackRequest): Promise<BackOutcome> {
    try {
      return await this.runs.whileAlive(run, () => this.switchTo(run, operator, request));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const applied = await this.runs.fail(run, reason, { isResumable: false });
      if (applied) return { kind: 'applied', importId: run.id, restored: applied.restored ?? 0, ...applied.written };
      if (!(error instanceof Refused || error instanceof UnreadableFile || error instanceof RunLost)) throw error;
      return { kind: 'refused', reason };
    }
  }

  /** Lets the scheduled job fetch again. @returns whether it was held */
  async resume(operator: Operator, reason: string): Promise<boolean> {
    return this.prisma.$transaction(async (tx) => {
      await lockVersions(tx);
      const held = await tx.$executeRaw`UPDATE classifier_imports SET holds_fetching = false WHERE holds_fetching`;
      if (held === 0) return false;
      const now = await contentInForce(tx);
      const state = { version: now.version, restored_version: now.content };
      await this.record(tx, operator, {
        ...{ action: 'classifier.resume', targetId: `classifier:${now.version}` },
        ...{ before: { ...state, fetching: 'held' }, after: { ...state, fetching: 'on', reason } },
      });
      return true;
    });
  }

  private async switchTo(run: ImportRun, operator: Operator, request: BackRequest): Promise<BackOutcome> {
    const outcome = await this.prisma.$transaction((tx) => this.write(tx, run, operator, request), {
      timeout: TIMEOUT_MS,
    });
    await this.notices.publish(ALL_MERCHANTS);
    return outcome;
  }

  private async write(
    tx: Prisma.TransactionClient,
    { id: importId, claims }: ImportRun,
    operator: Operator,
    { to, reason }: BackRequest,
  ): Promise<BackOutcome> {
    await lockVersions(tx);
    const before = await contentInForce(tx);
    const restored = await targetOf(tx, before, to);
    const applied = await writeVersion(tx, restoredEntries(restored), { isWhole: to === null });
    const switched = await tx.$executeRaw`
      UPDATE classifier_imports SET state = 'applied', finished_at = now(), version = ${applied.version}::int,
             result = ${JSON.stringify(applied)}::jsonb, restored_version = ${restored}::int, holds_fetching = true,
             reached_at = (SELECT reached_at FROM classifier_imports WHERE version = ${restored}::int)
      WHERE id = ${importId} AND claims = ${claims} AND state = 'loading'`;
    if (switched === 0) throw new RunLost();
    // A load that was cut off would go on from where the register no longer is.
    await tx.$executeRaw`
      UPDATE classifier_imports SET state = 'failed', cursor = NULL, finished_at = coalesce(finished_at, now())
      WHERE state <> 'applied'`;
    await tx.$executeRaw`DELETE FROM classifier_drafts`;
    await this.record(tx, operator, {
      ...{ action: 'classifier.go_back', targetId: `classifier:${applied.version ?? before.version}` },
      before: { version: before.version, restored_version: before.content },
      after: { version: applied.version ?? before.version, restored_version: restored, fetching: 'held', reason },
    });
    return { kind: 'applied', importId, restored, ...applied };
  }

  /** On every merchant's trail: all their receipts are judged by it. In one order, so that two of these cannot deadlock. */
  private async record(
    tx: Prisma.TransactionClient,
    operator: Operator,
    entry: { action: string; targetId: string; before: unknown; after: unknown },
  ): Promise<void> {
    const merchants = await tx.$queryRaw<{ id: string }[]>`SELECT id FROM merchants ORDER BY id`;
    for (const { id } of merchants) await this.trail.append(tx, { ...operator, merchantId: id, ...entry });
  }
}

/** @throws Refused */
async function targetOf(
  tx: Pick<Prisma.TransactionClient, '$queryRaw'>,
  { content }: ContentInForce,
  wanted: number | null,
): Promise<number> {
  const target = await restorable(tx, wanted === null ? { before: content } : { version: wanted });
  if (target === null)
    throw new Refused(wanted === null ? 'There is no version before it.' : `There is no version ${wanted}.`);
  if (target === content) throw new Refused(`The content of version ${content} is in force already.`);
  return target;
}

/** What each code was that has changed since; one that was not there then is out of force. Its words only ever grow. */
function restoredEntries(version: number): Prisma.Sql {
  return Prisma.sql`
    SELECT e.spic,
           coalesce(h.entry->'name', e.name) AS name,
           coalesce(h.entry->'packages', e.packages) AS packages,
           coalesce((h.entry->>'units')::int, e.units) AS units,
           coalesce((h.entry->>'marked')::boolean, e.marked) AS marked,
           coalesce((h.entry->>'cash_allowed')::boolean, e.cash_allowed) AS cash_allowed,
           CASE WHEN h.entry IS NULL THEN e.vat_percents
                ELSE ARRAY(SELECT v::smallint FROM jsonb_array_elements_text(h.entry->'vat_percents') v) END AS vat_percents,
           coalesce((h.entry->>'active')::boolean, false) AS active,
           e.changed_at, e.word_keys
      FROM (SELECT DISTINCT ON (spic) spic, entry FROM classifier_history
             WHERE replaced_in > ${version}::int ORDER BY spic, replaced_in) h
      JOIN classifier_entries e ON e.spic = h.spic`;
}
