import { setTimeout as delay } from 'node:timers/promises';
import { Prisma } from '#database';
import {
  abandonArchivesOf,
  archivesOfPartition,
  CALL_TABLES,
  dateSandboxEvents,
  dropReleasedPartition,
  hasRestoredPartitions,
  EMPTIED_TABLES,
  makeNextPartition,
  noteArchivedRound,
  notePartitionRound,
  noteWritten,
  PARTITIONED_TABLES,
  readReleasedRows,
  releasedPartitions,
  releaseEmptiedPartitions,
  releaseEventPartitions,
  releasePaymentPartitions,
  releaseWebhookPartitions,
  StoreUnavailable,
  type ArchiveFiles,
  type ArchiveRow,
  type KeepDays,
  type ReleasedPartition,
  type RunStatement,
} from '#ledger';
import type { Logger } from '#runtime';
import { RESTORED_DAYS } from './archive-keeper.js';
import { withKeeperLock, type KeeperSession } from './keeper-session.js';
import { expectKnownPlace } from './known-place.js';
import { abandonUnfinished, Writing } from './writing.js';

/** Of advisory locks: "AR", and the keeper's own. */
const KEEPER_LOCK = [0x4152, 2] as const;
/** What reads a partition that no other session sees. */
const READING_MS = 3_600_000;
/** What shuts a table: its functions wait 50 ms for each lock, and what they do under it takes milliseconds. */
const SHUTTING_MS = 2_000;
const LOCK_TIMEOUT_MS = 100;
/** lock_not_available, deadlock_detected: it gave way. A statement that took SHUTTING_MS had the tables shut meanwhile: never again in a round. */
const GAVE_WAY = new Set(['55P03', '40P01']);
/** Steps of one round: a keeper that was away for years goes on in the next one. */
const MOST_STEPS = 60;

export interface PartitionOptions {
  /** Days that a delivery is kept after its last attempt. */
  keepDays: number;
  /** Days that an event is kept; with an archive only, without one all stay. */
  keepEventsDays: number;
  /** Days that calls to payment providers and theirs to us are kept; with an archive only, without one all stay. */
  keepCallsDays: number;
  /** Days after which all rows of a partition have left that may (archive-keeper.ts); with an archive only. */
  keepLeavingDays: KeepDays;
  /** Where what leaves is archived; null: nowhere. */
  archive: ArchiveFiles | null;
  rowsAtOnce: number;
  maxRows: number;
  /** Characters of one archive, before compression; at most what its store takes. */
  maxCharacters: number;
  /** Between two statements. */
  pauseMs: number;
  /** How often it asks again for a lock in one round, and after which pause. */
  tries: number;
  retryMs: number;
}

export const PARTITION_OPTIONS = {
  ...{ rowsAtOnce: 500, maxRows: 20_000, maxCharacters: Infinity, pauseMs: 50 },
  ...{ tries: 40, retryMs: 250 },
};

/**
 * Keeps the partitions of events, webhook deliveries, calls of payments, attempts and receipts, one relay at a time: makes those of the next months, takes off what
 * is older than it is kept, and drops that, with an archive only when files hold it. Each step is one transaction of the database and is
 * found by the next round where this one ends (docs/adr/0191-webhooks-in-partitions.md has the crash windows).
 */
export class PartitionKeeper {
  private readonly files: ArchiveFiles | null;
  private readonly session: KeeperSession;
  private isStopping = false;

  constructor(
    databaseUrl: string,
    private readonly options: PartitionOptions,
    private readonly logger: Logger,
  ) {
    this.files = options.archive;
    this.session = {
      ...{ databaseUrl, name: 'partition-keeper', lock: KEEPER_LOCK },
      ...{ statementTimeoutMs: READING_MS, lockTimeoutMs: LOCK_TIMEOUT_MS },
    };
  }

  /** @returns whether there is more to do at once: never, partitions are a matter of days */
  async run(): Promise<false> {
    await withKeeperLock(this.session, this.logger, (run) => this.work(run));
    return false;
  }

  /** The round under way ends soon; what it leaves is found by the next one. */
  stop(): void {
    this.isStopping = true;
    this.files?.end();
  }

  private async work(run: RunStatement): Promise<void> {
    await this.dateEvents(run);
    const failures = await this.makeAhead(run);
    // What was brought back is in the oldest partition, and would be taken off with the next one.
    const mayRelease = !(await hasRestoredPartitions(run, RESTORED_DAYS));
    failures.push(...(await this.keepDeliveries(run, { mayRelease, areMade: failures.length === 0 })));
    if (this.files) await expectKnownPlace(run, 'partitions', this.files, this.logger);
    const ofEvents = this.files && mayRelease ? await this.releaseEvents(run) : [];
    const hasArchive = this.files !== null;
    if (ofEvents.length === 0 && !this.isStopping) await noteArchivedRound(run, 'events', { hasArchive });
    failures.push(...ofEvents);
    failures.push(...(await this.keepCalls(run, hasArchive && mayRelease)));
    for (const table of EMPTIED_TABLES)
      failures.push(...(await this.keepEmptied(run, table, hasArchive && mayRelease)));
    failures.push(...(await this.leaveEach(run, await releasedPartitions(run))));
    if (failures.length > 0) throw failures[0];
  }

  /** One that cannot leave keeps no other one here. @returns what failed */
  private async leaveEach(run: RunStatement, partitions: readonly ReleasedPartition[]): Promise<unknown[]> {
    const failures: unknown[] = [];
    for (const partition of partitions)
      await this.leave(run, partition).catch((error: unknown) => {
        this.logger.error(
          { err: error, partition: partition.name },
          'an old partition could not be archived or dropped',
        );
        failures.push(error);
      });
    return failures;
  }

  /** What stands behind all months keeps the next one from being made. Where it fails for once, all else goes on. */
  private async dateEvents(run: RunStatement): Promise<void> {
    try {
      let isMore = true;
      for (let steps = 0; isMore && steps < MOST_STEPS && !this.isStopping; steps += 1)
        isMore = await dateSandboxEvents(run);
    } catch (error) {
      this.logger.error({ err: error }, 'events of sandboxes were not put into their months');
    }
  }

  /** A table that a reader holds up keeps no other one from getting its partitions. @returns what failed */
  private async makeAhead(run: RunStatement): Promise<unknown[]> {
    const failures: unknown[] = [];
    for (const table of PARTITIONED_TABLES)
      await this.makeAheadOf(run, table).catch((error: unknown) => {
        this.logger.error({ err: error, table }, 'the partitions of the months to come were not made');
        failures.push(error);
      });
    return failures;
  }

  private async makeAheadOf(run: RunStatement, table: (typeof PARTITIONED_TABLES)[number]): Promise<void> {
    let step = 'made';
    for (let steps = 0; step === 'made' && steps < MOST_STEPS && !this.isStopping; steps += 1) {
      step = await this.patiently(run, SHUTTING_MS, () => makeNextPartition(run, table));
      if (step === 'made') this.logger.info({ table }, 'a partition was made');
    }
    if (step === 'crowded')
      this.logger.error(
        { table },
        'no partition is made: the last one has too many rows (docs/alarms.md, PartitionsBehind)',
      );
  }

  /** @param areMade the partitions of the months to come, of all tables: only then has the round done what it was to. @returns what failed */
  private async keepDeliveries(
    run: RunStatement,
    { mayRelease, areMade }: { mayRelease: boolean; areMade: boolean },
  ): Promise<unknown[]> {
    try {
      const release = (): Promise<string> => releaseWebhookPartitions(run, this.options.keepDays);
      const isHeld = mayRelease && (await this.releaseAll(run, release)) === 'held';
      if (isHeld) this.logger.warn('an old month of deliveries stays: too many of them are not finished');
      // Before the archives: those of a large month take more than a round.
      if (areMade && !this.isStopping) await notePartitionRound(run, isHeld);
      return [];
    } catch (error) {
      this.logger.error({ err: error }, 'an old month of deliveries was not taken off');
      return [error];
    }
  }

  /** Months of calls to payment providers and of theirs to us; a table that fails does not keep the other one from leaving. @returns what failed */
  private async keepCalls(run: RunStatement, mayRelease: boolean): Promise<unknown[]> {
    const [held, failures]: [string[], unknown[]] = [[], []];
    for (const table of mayRelease ? CALL_TABLES : [])
      try {
        const release = (): Promise<string> => releasePaymentPartitions(run, table, this.options.keepCallsDays);
        // What it reads, of unfinished payments, it reads before the table is shut; then two thousand rows at most are moved.
        if ((await this.releaseAll(run, release, READING_MS)) === 'held') held.push(table);
      } catch (error) {
        this.logger.error({ err: error, table }, 'an old month of calls was not taken off');
        failures.push(error);
      }
    if (held.length > 0) this.logger.warn({ tables: held }, 'an old month of calls stays (npm run cli -- doctor)');
    if (failures.length > 0 || this.isStopping) return failures;
    await noteArchivedRound(run, 'payments', { hasArchive: this.files !== null, isHeld: held.length > 0 });
    return [];
  }

  /** Partitions whose rows have left one by one. @returns what failed */
  private async keepEmptied(run: RunStatement, table: keyof KeepDays, mayRelease: boolean): Promise<unknown[]> {
    try {
      const release = (): Promise<string> => releaseEmptiedPartitions(run, table, this.options.keepLeavingDays[table]);
      // What is left of a partition is counted before the table is shut; then two thousand rows at most are moved.
      const step = mayRelease ? await this.releaseAll(run, release, READING_MS) : 'none';
      // Receipts of payments stay (docs/archive.md), so that nothing is wrong where a partition does.
      const isHeld = step === 'held' && table === 'attempts';
      if (isHeld) this.logger.warn('an old month of attempts stays: more of them than a few have not left yet');
      if (!this.isStopping) await noteArchivedRound(run, table, { hasArchive: this.files !== null, isHeld });
      return [];
    } catch (error) {
      this.logger.error({ err: error, table }, 'an old partition was not taken off');
      return [error];
    }
  }

  /** @returns the last step */
  private async releaseAll(run: RunStatement, release: () => Promise<string>, ms = SHUTTING_MS): Promise<string> {
    let step = 'released';
    for (let steps = 0; step === 'released' && steps < MOST_STEPS && !this.isStopping; steps += 1)
      step = await this.patiently(run, ms, release);
    return step;
  }

  /** What is needed of a month still is copied before the table is shut: only that takes long, and it asks for its locks patiently itself. */
  private async releaseEvents(run: RunStatement): Promise<unknown[]> {
    try {
      let step = 'released';
      for (let steps = 0; step === 'released' && steps < MOST_STEPS && !this.isStopping; steps += 1)
        step = await releaseEventPartitions(run, this.options.keepEventsDays);
      return [];
    } catch (error) {
      this.logger.error({ err: error }, 'an old month of events was not taken off');
      return [error];
    }
  }

  private async leave(run: RunStatement, partition: ReleasedPartition): Promise<void> {
    if (this.isStopping || (this.files && !(await this.archive(run, this.files, partition)))) return;
    const isGone = await this.patiently(run, READING_MS, () =>
      dropReleasedPartition(run, partition.name, this.files !== null),
    );
    if (isGone) this.logger.info({ partition: partition.name }, 'an old partition was dropped');
    else if (this.files) await this.beginAnew(run, partition, 'its archives do not hold what it holds');
    else
      this.logger.error(
        { partition: partition.name },
        'an old partition is not dropped: this installation archives webhooks, and this relay has neither ARCHIVE_DIR nor ARCHIVE_BUCKET',
      );
  }

  /** @returns whether all of its rows are in files */
  private async archive(run: RunStatement, files: ArchiveFiles, partition: ReleasedPartition): Promise<boolean> {
    const { name: released, table } = partition;
    let after: string | null = '';
    for (const archive of await archivesOfPartition(run, released)) {
      const state = await this.stateOf(run, files, archive);
      if (state === 'whole') after = archive.last_id ?? (await files.manifest(archive.name))?.last_id ?? '';
      else if (state !== 'abandoned') return this.beginAnew(run, partition, `${archive.name} is ${state}`);
    }
    while (after !== null) {
      if (this.isStopping) return false;
      const writing = new Writing(files, run, { table, released });
      try {
        after = await this.fill(run, writing, { partition: released, after });
        const manifest = await writing.finish();
        if (manifest) await noteWritten(run, manifest);
      } catch (error) {
        await writing.abort();
        throw error;
      }
    }
    return true;
  }

  /** What an earlier process began: a file with a manifest is whole, one without never counted. */
  private async stateOf(run: RunStatement, files: ArchiveFiles, archive: ArchiveRow): Promise<string> {
    const { name, state, sha256 } = archive;
    const found = await files.check(name, sha256 ?? undefined).catch((error: unknown) => {
      // Of a bucket that is away for a moment nothing is written anew.
      if (error instanceof StoreUnavailable) throw error;
      this.logger.error({ err: error, archive: name }, 'an archive cannot be read');
      return 'changed';
    });
    if (state === 'writing' && found === 'no_manifest') {
      await abandonUnfinished(run, files, name, this.logger);
      return 'abandoned';
    }
    if (state === 'writing' && found === 'whole') {
      const manifest = await files.manifest(name);
      await files.sync();
      if (manifest) await noteWritten(run, manifest);
    }
    return found;
  }

  /** @returns where to go on; null: there are no more rows */
  private async fill(
    run: RunStatement,
    writing: Writing,
    from: { partition: string; after: string },
  ): Promise<string | null> {
    const { rowsAtOnce: limit, pauseMs } = this.options;
    let after = from.after;
    while (!this.isStopping && writing.hasRoom(this.options)) {
      const rows = await readReleasedRows(run, { partition: from.partition, after, limit });
      for (const { id, line } of rows) if (line !== null) await writing.add({ id, line });
      if (rows.length < limit) return null;
      after = rows.at(-1)?.id ?? after;
      await delay(pauseMs);
    }
    return after;
  }

  /** Its rows are all here: the next round writes them anew, under other names. */
  private async beginAnew(run: RunStatement, partition: ReleasedPartition, why: string): Promise<false> {
    this.logger.error({ partition: partition.name, why }, 'a partition is archived anew');
    await abandonArchivesOf(run, partition.name);
    return false;
  }

  /** Sessions of the gateways come first: a lock that is not to be had at once is asked for again. */
  private async patiently<T>(run: RunStatement, ms: number, act: () => Promise<T>): Promise<T> {
    await run(Prisma.sql`SELECT set_config('statement_timeout', ${String(ms)}, false)`);
    try {
      for (let tries = 1; ; tries += 1) {
        try {
          return await act();
        } catch (error) {
          const gaveWay = error instanceof Error && 'code' in error && GAVE_WAY.has(String(error.code));
          if (!gaveWay || tries >= this.options.tries || this.isStopping) throw error;
          await delay(this.options.retryMs);
        }
      }
    } finally {
      // A session that was lost has nothing to set.
      await run(Prisma.sql`SELECT set_config('statement_timeout', ${String(READING_MS)}, false)`).catch(() => []);
    }
  }
}
