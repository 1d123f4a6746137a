import { Inject, Injectable } from '@nestjs/common';
import { MAX_GROUPED_ROWS, Prisma, SalesDatabase, StatementPump } from '#database';
import { Problem } from '#problems';
import { isDatabaseUnavailable, PeriodicProvider, type Logger } from '#runtime';
import { LOGGER } from '../../tokens.js';

interface Waiting {
  keyId: string;
  nonce: string;
  resolve: (isNew: boolean) => void;
  reject: (error: unknown) => void;
}

/**
 * How long a nonce is kept, by the database's clock. A signature is good for 360 s at most (300, and a signer 60 ahead):
 * gateways may differ by four minutes before one that is forgotten could still be good somewhere.
 */
const KEPT_SECONDS = 600;
/** A nonce is one short row: what it costs is its share of a statement, so a few of them wait for one another. */
const PACE = { maxStatements: 1, pauseMs: 4 };
const SWEEP_EVERY_MS = 60_000;
const SWEPT_AT_ONCE = 5_000;

/**
 * Which nonces were used, in PostgreSQL: the same signature counts once on all gateways, and Redis may lose everything.
 * Nonces that arrive together are written by one statement.
 *
 * The statement does not wait for its commit to reach the disk. Crash window: a database that dies within that fraction
 * of a second forgets the nonce. It does not forget the nonce of any write that was kept: that write was committed after
 * it, and the log reaches the disk in order.
 */
@Injectable()
export class UsedNonces extends PeriodicProvider {
  private readonly waiting = new Map<string, Waiting>();
  private readonly pump = new StatementPump(
    () => this.waiting.size,
    () => this.write(this.takeGroup()),
    PACE,
  );
  constructor(
    private readonly prisma: SalesDatabase,
    @Inject(LOGGER) logger: Logger,
  ) {
    super(
      {
        ...{ name: 'sweeping expired nonces', everyMs: SWEEP_EVERY_MS, startsAfterMs: SWEEP_EVERY_MS },
        run: () => this.sweep(),
      },
      logger,
    );
  }

  /**
   * @returns true once for each key and nonce, false ever after
   * Rejects when the database cannot say; the nonce may be used up then, and the caller signs anew.
   */
  use(keyId: string, nonce: string): Promise<boolean> {
    const name = `${keyId}\n${nonce}`;
    if (this.waiting.has(name)) return Promise.resolve(false);
    return new Promise((resolve, reject) => {
      this.waiting.set(name, { keyId, nonce, resolve, reject });
      this.pump.schedule();
    });
  }

  /** Deletes what no signature can need any more. Any number of gateways may do it at the same time. */
  async sweep(): Promise<void> {
    for (let deleted = SWEPT_AT_ONCE; deleted === SWEPT_AT_ONCE;) {
      deleted = await this.prisma.$executeRaw`
        DELETE FROM signature_nonces WHERE ctid = ANY (ARRAY(
          SELECT ctid FROM signature_nonces WHERE expires_at < now() LIMIT ${SWEPT_AT_ONCE} FOR UPDATE SKIP LOCKED))`;
    }
  }

  private takeGroup(): [string, Waiting][] {
    const group = [...this.waiting].slice(0, MAX_GROUPED_ROWS);
    for (const [name] of group) this.waiting.delete(name);
    return group;
  }

  /** Sorted, so that two groups that hold the same nonces wait for one another in one order. */
  private async write(group: [string, Waiting][]): Promise<void> {
    const sorted = group.sort(([a], [b]) => (a < b ? -1 : 1));
    try {
      const written = await this.insert(sorted.map(([, waiting]) => waiting));
      for (const [name, { resolve }] of sorted) resolve(written.has(name));
    } catch (error) {
      const cause = isDatabaseUnavailable(error)
        ? error
        : new Problem('service_unavailable', 'The database is overloaded; nothing was done. Sign the request anew.', {
            cause: error,
          });
      for (const [, { reject }] of sorted) reject(cause);
    }
  }

  private async insert(group: readonly Waiting[]): Promise<Set<string>> {
    const keyIds = group.map(({ keyId }) => keyId);
    const nonces = group.map(({ nonce }) => nonce);
    const rows = await this.prisma.queryHot<{ key_id: string; nonce: string }>(Prisma.sql`
      INSERT INTO signature_nonces (key_id, nonce, expires_at)
      SELECT used.key_id, used.nonce, now() + make_interval(secs => ${KEPT_SECONDS}::int4)
        FROM unnest(${keyIds}::text[], ${nonces}::text[]) AS used (key_id, nonce),
             (SELECT set_config('synchronous_commit', 'off', true)) AS without_waiting
      ON CONFLICT DO NOTHING RETURNING key_id, nonce`);
    return new Set(rows.map((row) => `${row.key_id}\n${row.nonce}`));
  }
}
