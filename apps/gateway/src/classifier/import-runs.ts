import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database';
import type { ImportKind } from './apply-version.js';

/** Where a load goes on; which fields it uses is its kind's business. */
export interface ImportCursor {
  /** Index of the file that is read (full: by language). */
  stage?: number;
  /** Page of the feed that comes next. */
  page?: number;
  /** Window of the feed, YYYY-MM-DD. */
  start?: string;
  end?: string;
}

export interface ImportProgress {
  rows: number;
  rejected: number;
  /** The first few that were rejected. */
  samples: { number: number; reason: string }[];
}

/** `back`: no load, but what must not happen beside one. */
export type RunKind = ImportKind | 'back';

export interface ImportRun {
  id: number;
  kind: RunKind;
  source: string;
  cursor: ImportCursor | null;
  progress: ImportProgress;
}

export type Claimed =
  | { kind: 'claimed'; run: ImportRun }
  /** Another load goes on. */
  | { kind: 'busy' }
  /** Somebody went back to an earlier version: only a person may load. */
  | { kind: 'held' };

const nothingYet = (): ImportProgress => ({ rows: 0, rejected: 0, samples: [] });

/** A load that has not been heard of for so long has died with its program. */
const DEAD_AFTER = '2 minutes';
/** What was read longer ago is not gone on with. */
const RESUMED_WITHIN = '1 day';
const CLAIM_LOCK = 0x4349; // "CI"

/** The loads of the register, in the database: at most one at a time over all programs, and one that was cut off goes on. */
@Injectable()
export class ImportRuns {
  constructor(private readonly prisma: PrismaService) {}

  /** @param unattended nobody has asked for this very load */
  async claim(kind: RunKind, source: string, { unattended = false } = {}): Promise<Claimed> {
    return this.prisma.$transaction(async (tx) => {
      await tx.$executeRaw`SELECT pg_advisory_xact_lock(${CLAIM_LOCK}::int4, 0)`;
      const busy = await tx.$queryRaw<unknown[]>`
        SELECT 1 FROM classifier_imports WHERE state = 'loading' AND seen_at > now() - ${DEAD_AFTER}::text::interval`;
      if (busy.length > 0) return { kind: 'busy' };
      // After the look for who is at work: going back is claimed like a load, and holds with its commit.
      const held = await tx.$queryRaw<unknown[]>`SELECT 1 FROM classifier_imports WHERE holds_fetching LIMIT 1`;
      if (unattended && held.length > 0) return { kind: 'held' };
      const [resumed] = await tx.$queryRaw<ImportRun[]>`
        UPDATE classifier_imports SET state = 'loading', seen_at = now(), error = NULL
        WHERE id = (SELECT max(id) FROM classifier_imports WHERE kind = ${kind}) AND source = ${source}
          AND state <> 'applied' AND cursor IS NOT NULL AND started_at > now() - ${RESUMED_WITHIN}::text::interval
        RETURNING id, kind, source, cursor, progress`;
      if (resumed) return { kind: 'claimed', run: { ...resumed, progress: { ...nothingYet(), ...resumed.progress } } };
      // What was left of loads that nobody goes on with; those of other kinds may still be.
      await tx.$executeRaw`
        UPDATE classifier_imports SET state = 'failed', cursor = NULL, error = coalesce(error, 'It was cut off.'),
               finished_at = coalesce(finished_at, now())
        WHERE state <> 'applied'
          AND (kind = ${kind} OR cursor IS NULL OR started_at < now() - ${RESUMED_WITHIN}::text::interval)`;
      await tx.$executeRaw`
        DELETE FROM classifier_drafts d USING classifier_imports i WHERE i.id = d.import_id AND i.cursor IS NULL`;
      const [row] = await tx.$queryRaw<{ id: number }[]>`
        INSERT INTO classifier_imports (kind, source) VALUES (${kind}, ${source}) RETURNING id`;
      if (!row) throw new Error('an INSERT without a row');
      return { kind: 'claimed', run: { id: row.id, kind, source, cursor: null, progress: nothingYet() } };
    });
  }

  /** Also says that the load is alive. */
  async save({ id, progress, cursor }: ImportRun): Promise<void> {
    await this.prisma.$executeRaw`
      UPDATE classifier_imports SET seen_at = now(), progress = ${JSON.stringify(progress)}::jsonb,
             cursor = ${cursor === null ? null : JSON.stringify(cursor)}::jsonb
      WHERE id = ${id}`;
  }

  /** @param isResumable the same load again goes on where this one ended; else it begins anew */
  async fail(id: number, error: string, { isResumable }: { isResumable: boolean }): Promise<void> {
    await this.prisma.$executeRaw`
      UPDATE classifier_imports SET state = 'failed', error = ${error.slice(0, 1_000)}, finished_at = now(),
             cursor = CASE WHEN ${isResumable}::boolean THEN cursor END
      WHERE id = ${id}`;
  }

  /** Until when what the source told is in force, going back included; null = nobody knows. */
  async reachedAt(): Promise<Date | null> {
    const [row] = await this.prisma.$queryRaw<{ reached_at: Date | null }[]>`
      SELECT reached_at FROM classifier_imports WHERE state = 'applied' ORDER BY finished_at DESC, id DESC LIMIT 1`;
    return row?.reached_at ?? null;
  }
}
