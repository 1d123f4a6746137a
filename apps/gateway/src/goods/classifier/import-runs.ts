import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database';
import type { WrittenVersion } from './write-version.js';

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

export type ImportKind = 'full' | 'inactive' | 'changes' | 'lines';

/** `back`: no load, but what must not happen beside one. */
export type RunKind = ImportKind | 'back';

export interface ImportRun {
  id: number;
  /** How often it was claimed so far: a process with an older number has lost it to another. */
  claims: number;
  kind: RunKind;
  source: string;
  cursor: ImportCursor | null;
  progress: ImportProgress;
}

/** What a load has put in force. */
export interface AppliedRun {
  written: WrittenVersion;
  /** Of `back`. */
  restored: number | null;
}

export type Claimed =
  | { kind: 'claimed'; run: ImportRun }
  /** Another load goes on. */
  | { kind: 'busy' }
  /** A person went back to an earlier version: only a person may load. */
  | { kind: 'held' };

const nothingYet = (): ImportProgress => ({ rows: 0, rejected: 0, samples: [] });

/** Another process has taken this load over, or deleted it: nothing of it may be put in force from here. */
export class RunLost extends Error {
  override readonly name = 'RunLost';

  constructor() {
    super('It gave no sign of life for a while, and another load has taken its place.');
  }
}

/** How often a load says that it is alive. */
const BEAT_MS = 5_000;
/** A load without a sign of life for so long has died with its program. */
const DEAD_AFTER = '30 seconds';
/** What was read longer ago is not gone on with. */
const RESUMED_WITHIN = '1 day';
const CLAIM_LOCK = 0x4349; // "CI"

/**
 * The loads of the register, in the database: at most one at a time over all programs, and one that was cut off goes on. Who
 * was taken for dead and is not (a program that was paused) notices at its next statement: each names its claim.
 */
@Injectable()
export class ImportRuns {
  constructor(private readonly prisma: PrismaService) {}

  /** @param unattended not requested by a person */
  async claim(kind: RunKind, source: string, { unattended = false } = {}): Promise<Claimed> {
    return this.prisma.$transaction(async (tx) => {
      await tx.$executeRaw`SELECT pg_advisory_xact_lock(${CLAIM_LOCK}::int4, 0)`;
      const busy = await tx.$queryRaw<unknown[]>`
        SELECT 1 FROM classifier_imports WHERE state = 'loading' AND seen_at > now() - ${DEAD_AFTER}::text::interval`;
      if (busy.length > 0) return { kind: 'busy' };
      // After the check for a load at work: going back is claimed like a load, and holds with its commit.
      const held = await tx.$queryRaw<unknown[]>`SELECT 1 FROM classifier_imports WHERE holds_fetching LIMIT 1`;
      if (unattended && held.length > 0) return { kind: 'held' };
      const [resumed] = await tx.$queryRaw<ImportRun[]>`
        UPDATE classifier_imports SET state = 'loading', seen_at = now(), error = NULL, claims = claims + 1
        WHERE id = (SELECT max(id) FROM classifier_imports WHERE kind = ${kind}) AND source = ${source}
          AND state <> 'applied' AND cursor IS NOT NULL AND started_at > now() - ${RESUMED_WITHIN}::text::interval
        RETURNING id, claims, kind, source, cursor, progress`;
      if (resumed) return { kind: 'claimed', run: { ...resumed, progress: { ...nothingYet(), ...resumed.progress } } };
      // What was left of loads that no process goes on with; those of other kinds may still be.
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
      return { kind: 'claimed', run: { id: row.id, claims: 1, kind, source, cursor: null, progress: nothingYet() } };
    });
  }

  /** Says that the load is alive for as long as the work takes: a download and a switch may take minutes. */
  async whileAlive<T>(run: ImportRun, work: () => Promise<T>): Promise<T> {
    let isBeating = false;
    const beat = async (): Promise<void> => {
      if (isBeating) return;
      isBeating = true;
      await this.beat(run);
      isBeating = false;
    };
    const timer = setInterval(() => void beat(), BEAT_MS);
    try {
      return await work();
    } finally {
      clearInterval(timer);
    }
  }

  /** @throws RunLost */
  async save({ id, claims, progress, cursor }: ImportRun): Promise<void> {
    const saved = await this.prisma.$executeRaw`
      UPDATE classifier_imports SET seen_at = now(), progress = ${JSON.stringify(progress)}::jsonb,
             cursor = ${cursor === null ? null : JSON.stringify(cursor)}::jsonb
      WHERE id = ${id} AND claims = ${claims} AND state = 'loading'`;
    if (saved === 0) throw new RunLost();
  }

  /**
   * Ends a load that met an error, unless it is in force already: the COMMIT got through and only its answer was lost.
   * @param isResumable the same load again goes on where this one ended; else it begins anew
   * @returns what it has put in force; null = nothing
   */
  async fail(
    { id, claims }: ImportRun,
    error: string,
    { isResumable }: { isResumable: boolean },
  ): Promise<AppliedRun | null> {
    // Waits for a COMMIT that is still under way: it holds the row.
    const failed = await this.prisma.$executeRaw`
      UPDATE classifier_imports SET state = 'failed', error = ${error.slice(0, 1_000)}, finished_at = now(),
             cursor = CASE WHEN ${isResumable}::boolean THEN cursor END
      WHERE id = ${id} AND claims = ${claims} AND state = 'loading'`;
    if (failed > 0) return null;
    const [row] = await this.prisma.$queryRaw<AppliedRun[]>`
      SELECT result AS written, restored_version AS restored FROM classifier_imports
       WHERE id = ${id} AND claims = ${claims} AND state = 'applied'`;
    return row ?? null;
  }

  /** Until when the source's changes are in force, going back included; null = unknown. */
  async reachedAt(): Promise<Date | null> {
    const [row] = await this.prisma.$queryRaw<{ reached_at: Date | null }[]>`
      SELECT reached_at FROM classifier_imports WHERE state = 'applied' ORDER BY finished_at DESC, id DESC LIMIT 1`;
    return row?.reached_at ?? null;
  }

  private async beat({ id, claims }: ImportRun): Promise<void> {
    try {
      await this.prisma.$executeRaw`
        UPDATE classifier_imports SET seen_at = now() WHERE id = ${id} AND claims = ${claims} AND state = 'loading'`;
    } catch {
      // Whatever is wrong with the database, the work itself meets; and its switch holds this row for a moment.
    }
  }
}
