import { Inject, Injectable } from '@nestjs/common';
import { PrismaService } from '#database';
import { PeriodicProvider, type Logger } from '#runtime';
import { idAt } from '../../http/id-times.js';
import { LOGGER } from '../../tokens.js';

/** For so long rows of a file that were refused are handed back. */
export const REJECTED_DAYS = 30;
/** After this a synchronisation that is neither committed nor aborted was forgotten. */
const OPEN_DAYS = 7;
const EVERY_MS = 10 * 60_000;
/** Few enough that no other statement waits for their rows. */
const AT_ONCE = 2_000;
const DAY_MS = 86_400_000;

/**
 * Removes what was kept aside for callers who do not come back: rows of files that were refused, and pages of synchronisations whose caller, or whose gateway
 * in the middle of a full import, has gone. Any number of gateways may do it.
 */
@Injectable()
export class ClearCatalog extends PeriodicProvider {
  constructor(
    private readonly prisma: PrismaService,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super(
      { name: 'clearing of catalogues', everyMs: EVERY_MS, startsAfterMs: EVERY_MS, run: () => this.execute() },
      logger,
    );
  }

  /** @returns whether there may be more at once */
  async execute(): Promise<boolean> {
    await this.abortForgotten();
    const pages = await this.clearPages();
    const rejected = await this.clearRejected();
    return pages === AT_ONCE || rejected === AT_ONCE;
  }

  /** Of those that have pages; one that is being committed, or to which a page is being added, is held. */
  private async abortForgotten(): Promise<void> {
    const aborted = await this.prisma.$executeRaw`
      WITH RECURSIVE kept AS (
        (SELECT sync_id FROM catalog_sync_items ORDER BY sync_id LIMIT 1)
        UNION ALL
        SELECT (SELECT i.sync_id FROM catalog_sync_items i WHERE i.sync_id > kept.sync_id ORDER BY i.sync_id LIMIT 1)
          FROM kept WHERE kept.sync_id < ${firstOf('syn', OPEN_DAYS)}
      )
      UPDATE catalog_syncs SET state = 'aborted', finished_at = now()
       WHERE id IN (SELECT id FROM catalog_syncs
                     WHERE id = ANY (ARRAY(SELECT sync_id FROM kept)) AND state = 'open'
                       AND created_at < now() - make_interval(days => ${OPEN_DAYS}::int4)
                     FOR UPDATE SKIP LOCKED)`;
    if (aborted > 0) this.logger.info({ aborted }, 'synchronisations that were forgotten are aborted');
  }

  private clearPages(): Promise<number> {
    return this.prisma.$executeRaw`
      DELETE FROM catalog_sync_items WHERE ctid = ANY (ARRAY(
        SELECT i.ctid FROM catalog_sync_items i JOIN catalog_syncs s ON s.id = i.sync_id
         WHERE i.sync_id < ${firstOf('syn', OPEN_DAYS)} AND s.state <> 'open'
         ORDER BY i.sync_id LIMIT ${AT_ONCE}::int4 FOR UPDATE OF i SKIP LOCKED))`;
  }

  private clearRejected(): Promise<number> {
    return this.prisma.$executeRaw`
      DELETE FROM catalog_import_rejects WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM catalog_import_rejects WHERE import_id < ${firstOf('imp', REJECTED_DAYS)}
         ORDER BY import_id LIMIT ${AT_ONCE}::int4 FOR UPDATE SKIP LOCKED))`;
  }
}

/** The first id that may have been made within so many days. */
function firstOf(prefix: string, days: number): string {
  return idAt(prefix, new Date(Date.now() - days * DAY_MS), -1);
}
