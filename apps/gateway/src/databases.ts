import type { FactoryProvider } from '@nestjs/common';
import { JobDatabase, PrismaService, ReportDatabase, SalesDatabase, type DatabaseSettings } from '#database';
import type { GatewaySettings } from './settings.js';

/** How long a write may wait for a conflicting one that has not committed yet (docs/adr/0003-grouped-accept.md). */
const LOCK_TIMEOUT_MS = 400;

/** What {@link databaseProviders} provides, for a module's exports. */
export const DATABASES = [PrismaService, SalesDatabase, ReportDatabase, JobDatabase] as const;

type PoolSizes = Pick<
  GatewaySettings,
  'DATABASE_URL' | 'SALES_POOL_SIZE' | 'API_POOL_SIZE' | 'REPORT_POOL_SIZE' | 'JOB_POOL_SIZE'
>;

/** The gateway's pools (docs/adr/0055-pools-by-purpose.md). A connection is opened when it is first needed. */
export function databaseProviders(settings: PoolSizes): FactoryProvider<PrismaService>[] {
  const pool = (applicationName: string, poolSize: number): DatabaseSettings => ({
    url: settings.DATABASE_URL,
    poolSize,
    applicationName,
    lockTimeoutMs: LOCK_TIMEOUT_MS,
  });
  return [
    { provide: SalesDatabase, useFactory: () => new SalesDatabase(pool('gateway', settings.SALES_POOL_SIZE)) },
    { provide: PrismaService, useFactory: () => new PrismaService(pool('gateway-api', settings.API_POOL_SIZE)) },
    {
      provide: ReportDatabase,
      useFactory: () => new ReportDatabase(pool('gateway-reports', settings.REPORT_POOL_SIZE)),
    },
    { provide: JobDatabase, useFactory: () => new JobDatabase(pool('gateway-jobs', settings.JOB_POOL_SIZE)) },
  ];
}
