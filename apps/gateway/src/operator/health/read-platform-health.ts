import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { LANE_LOCK_SESSIONS, PrismaService } from '#database';
import { readBacklog } from '#ledger';
import { LaneBell } from '#queue';
import { shared } from '../overview/shared-reading.js';
import type {
  HealthDatabase,
  HealthProgram,
  HealthQueue,
  HealthRelay,
  HealthTable,
  PlatformHealth,
} from './platform-health-view.js';

/** However many people keep the screen open, it is read once in so long. */
const KEPT_MS = 5_000;
const MAX_PROGRAMS = 500;
const MAX_OVERDUE = 10_000;
const LARGEST_TABLES = 10;
/** What is due for longer is not taken up by any program. */
const OVERDUE_SECONDS = 60;
/** Every gateway process listens by one session of this name. */
const GATEWAY_SESSIONS = 'gateway-listen';

interface SessionRow {
  address: string | null;
  since: Date;
  lanes: number;
}

/**
 * GET /v1/platform/health. Who runs is read from the sessions at the database, not from what programs last wrote about themselves: a
 * program that has ended has none. The primary is asked, never a replica: it has sessions of its own.
 */
@Injectable()
export class ReadPlatformHealth {
  private readonly kept = new LRUCache<string, Promise<PlatformHealth>>({ max: 1, ttl: KEPT_MS });

  constructor(
    private readonly prisma: PrismaService,
    private readonly bell: LaneBell,
  ) {}

  execute(): Promise<PlatformHealth> {
    return shared(this.kept, 'now', () => this.read());
  }

  /** One statement after the other: a screen takes one connection, not six. */
  private async read(): Promise<PlatformHealth> {
    const gateways = await this.sessions(GATEWAY_SESSIONS);
    const relays = await this.sessions(LANE_LOCK_SESSIONS);
    return {
      generated_at: new Date().toISOString(),
      gateways: gateways.map(programOf),
      relays: relays.map((row): HealthRelay => ({ ...programOf(row), lanes: row.lanes })),
      queue: await this.queue(),
      database: await this.database(),
      tables: await this.tables(),
    };
  }

  private sessions(name: string): Promise<SessionRow[]> {
    return this.prisma.$queryRaw<SessionRow[]>`
      SELECT host(a.client_addr) AS address, a.backend_start AS since,
             (SELECT count(*) FROM pg_locks l
               WHERE l.pid = a.pid AND l.locktype = 'advisory' AND l.mode = 'ExclusiveLock' AND l.granted)::int4 AS lanes
        FROM pg_stat_activity a
       WHERE a.datname = current_database() AND a.application_name = ${name} AND a.backend_start IS NOT NULL
       ORDER BY a.backend_start LIMIT ${MAX_PROGRAMS}::int4`;
  }

  private async queue(): Promise<HealthQueue> {
    const backlog = await readBacklog(this.prisma);
    const [overdue] = await this.prisma.$queryRaw<HealthQueue['overdue'][]>`
      WITH late AS (SELECT now() - make_interval(secs => ${OVERDUE_SECONDS}::int4) AS at)
      SELECT (SELECT count(*) FROM (SELECT FROM payments WHERE due_at < (SELECT at FROM late) LIMIT ${MAX_OVERDUE}::int4) p)::int4
               AS payments,
             (SELECT count(*) FROM (SELECT FROM webhook_endpoints WHERE due_at < (SELECT at FROM late) LIMIT ${MAX_OVERDUE}::int4) w)::int4
               AS webhook_endpoints,
             (SELECT count(*) FROM (SELECT FROM message_accounts WHERE due_at < (SELECT at FROM late) LIMIT ${MAX_OVERDUE}::int4) m)::int4
               AS message_accounts`;
    return {
      state: this.bell.state,
      lanes: backlog.lanes,
      receipts: backlog.waiting,
      oldest_receipt_seconds: Math.round(backlog.oldestSeconds),
      oldest_attempt_seconds: Math.round(backlog.oldestAttemptSeconds),
      unknown: backlog.unknown,
      overdue: overdue ?? { payments: 0, webhook_endpoints: 0, message_accounts: 0 },
    };
  }

  private async database(): Promise<HealthDatabase> {
    const [row] = await this.prisma.$queryRaw<HealthDatabase[]>`
      WITH sessions AS (
        SELECT xact_start, wait_event_type, backend_type FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()
      )
      SELECT current_setting('server_version') AS version,
             pg_database_size(current_database())::float8 AS size_bytes,
             (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')::int4 AS connections,
             current_setting('max_connections')::int4 AS max_connections,
             (SELECT count(*) FROM sessions WHERE wait_event_type = 'Lock')::int4 AS blocked,
             coalesce(round(extract(epoch FROM (SELECT max(now() - xact_start) FROM sessions
                                                 WHERE backend_type = 'client backend'))), 0)::float8
               AS oldest_transaction_seconds,
             (SELECT count(*) FROM pg_stat_replication)::int4 AS standbys`;
    if (!row) throw new Error('the database returned nothing');
    return row;
  }

  private tables(): Promise<HealthTable[]> {
    return this.prisma.$queryRaw<HealthTable[]>`
      SELECT c.relname AS name,
             (pg_total_relation_size(c.oid)
              + coalesce((SELECT sum(pg_total_relation_size(i.inhrelid)) FROM pg_inherits i WHERE i.inhparent = c.oid), 0))::float8
               AS bytes,
             greatest(c.reltuples, 0)::float8 AS rows,
             (SELECT count(*) FROM pg_inherits i WHERE i.inhparent = c.oid)::int4 AS partitions
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition
       ORDER BY bytes DESC, name LIMIT ${LARGEST_TABLES}::int4`;
  }
}

function programOf({ address, since }: SessionRow): HealthProgram {
  return { address, since: since.toISOString() };
}
