import type { FactoryProvider } from '@nestjs/common';
import {
  JobDatabase,
  KnownServer,
  ListReads,
  observeReads,
  PrismaService,
  Replica,
  ReportDatabase,
  ReportReads,
  SalesDatabase,
  sessionsAt,
  transactionsAt,
  type DatabaseSettings,
} from '#database';
import { Metrics, type Logger } from '#runtime';
import type { GatewaySettings } from './settings.js';
import { LOGGER } from './tokens.js';

/** How long a write may wait for a conflicting one that has not committed yet (docs/adr/0003-grouped-accept.md). */
const LOCK_TIMEOUT_MS = 400;

const OBSERVED_READS = Symbol('observed reads');

/** What {@link databaseProviders} provides, for a module's exports. */
export const DATABASES = [
  PrismaService,
  SalesDatabase,
  ReportDatabase,
  JobDatabase,
  ListReads,
  ReportReads,
  KnownServer,
] as const;

type PoolSizes = Pick<
  GatewaySettings,
  | 'DATABASE_URL'
  | 'DIRECT_DATABASE_URL'
  | 'READ_DATABASE_URL'
  | 'READ_MAX_AGE_MS'
  | 'SALES_POOL_SIZE'
  | 'API_POOL_SIZE'
  | 'REPORT_POOL_SIZE'
  | 'JOB_POOL_SIZE'
>;

/** What the calls of all merchants need at every moment. The others are taken in turns by what takes them. */
function shared(settings: DatabaseSettings): DatabaseSettings {
  return { ...settings, isShared: true };
}

/** The gateway's pools (docs/adr/0055-pools-by-purpose.md). A connection is opened when it is first needed. */
export function databaseProviders(settings: PoolSizes): FactoryProvider[] {
  const pool = (applicationName: string, poolSize: number): DatabaseSettings => ({
    url: sessionsAt(settings),
    poolSize,
    applicationName,
    lockTimeoutMs: LOCK_TIMEOUT_MS,
  });
  // Few connections with long statements of their own bounds, and pages of exports, do without a pooler.
  const pooled = (applicationName: string, poolSize: number): DatabaseSettings => ({
    ...pool(applicationName, poolSize),
    ...transactionsAt(settings),
  });
  const [lists, reports] = [
    pool('gateway-api', settings.API_POOL_SIZE),
    pool('gateway-reports', settings.REPORT_POOL_SIZE),
  ];
  return [
    {
      provide: SalesDatabase,
      useFactory: () => new SalesDatabase(shared(pooled('gateway', settings.SALES_POOL_SIZE))),
    },
    { provide: PrismaService, useFactory: () => new PrismaService(shared({ ...lists, ...transactionsAt(settings) })) },
    { provide: ReportDatabase, useFactory: () => new ReportDatabase(reports) },
    { provide: JobDatabase, useFactory: () => new JobDatabase(pool('gateway-jobs', settings.JOB_POOL_SIZE)) },
    {
      provide: KnownServer,
      inject: [PrismaService, LOGGER],
      useFactory: (database: PrismaService, logger: Logger) =>
        new KnownServer(
          database,
          { databaseUrl: sessionsAt(settings), applicationName: 'gateway-known-server' },
          logger,
        ),
    },
    {
      provide: Replica,
      inject: [LOGGER],
      useFactory: (logger: Logger): Replica | null => {
        const { READ_DATABASE_URL: url, READ_MAX_AGE_MS: maxAgeMs } = settings;
        return url === undefined ? null : new Replica({ url, maxAgeMs, lists, reports }, logger);
      },
    },
    {
      provide: ListReads,
      inject: [PrismaService, Replica],
      useFactory: (database: PrismaService, replica: Replica | null) =>
        new ListReads(
          { database, url: lists.url },
          replica && { url: replica.url, watch: replica.watch, database: replica.lists },
        ),
    },
    {
      provide: ReportReads,
      inject: [ReportDatabase, Replica],
      useFactory: (database: ReportDatabase, replica: Replica | null) =>
        new ReportReads(
          { database, url: reports.url },
          replica && { url: replica.url, watch: replica.watch, database: replica.reports },
        ),
    },
    {
      provide: OBSERVED_READS,
      inject: [Metrics, Replica, ListReads, ReportReads],
      useFactory: (metrics: Metrics, replica: Replica | null, lists: ListReads, reports: ReportReads) => {
        observeReads(metrics, { replica, lists, reports });
        return null;
      },
    },
  ];
}
