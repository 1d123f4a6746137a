import { PrismaService, type DatabaseSettings } from './prisma.service.js';

/*
 * Pools by purpose (docs/adr/0055-pools-by-purpose.md): what takes long cannot take the connections of what must not wait.
 * `PrismaService` itself is the pool of everything that is none of these.
 */

/**
 * Statements that a sale waits for: tokens, routing, goods, accepting, payments, and in a relay the lanes. None of them takes
 * long, so that a connection on which nothing comes is noticed within seconds. None reads a whole table where an index would do: a
 * plan that was made while a table was nearly empty is kept until it is analysed, a minute later at best (docs/adr/0060-lane-reads.md).
 */
export class SalesDatabase extends PrismaService {
  constructor({ parameters, ...settings }: DatabaseSettings) {
    super({
      ...{ statementTimeoutMs: 3_000, maxWaiting: 5_000 },
      ...settings,
      // Up to PostgreSQL 17 a scan that is forbidden and has to be done costs so much that its statement would be compiled each time, for a second.
      parameters: { enable_seqscan: 'off', jit: 'off', plan_cache_mode: 'force_generic_plan', ...parameters },
    });
  }
}

/** How long a sum waits while another one of its merchant is made, by whichever gateway. Its statements wait for no other lock. */
const TURN_TIMEOUT_MS = 5_000;

/** Sums over many receipts: few at the same time, each on one processor. */
export class ReportDatabase extends PrismaService {
  constructor({ parameters, ...settings }: DatabaseSettings) {
    super({
      statementTimeoutMs: 30_000,
      maxWaiting: 32,
      ...settings,
      parameters: { max_parallel_workers_per_gather: 0, ...parameters },
      lockTimeoutMs: TURN_TIMEOUT_MS,
    });
  }
}

/**
 * Transactions of minutes that a person has ordered: commits of catalogues, versions of the classification register. The server
 * does not bound their statements, and neither does the client: only the kernel notices here that a connection is lost.
 */
export class JobDatabase extends PrismaService {
  constructor(settings: DatabaseSettings) {
    super({ statementTimeoutMs: 0, idleInTransactionMs: 60_000, ...settings });
  }
}
