import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database';
import type { HealthDatabase, HealthQueue, HealthTable } from './platform-health-view.js';

const MAX_PROGRAMS = 500;
const MAX_OVERDUE = 10_000;
const LARGEST_TABLES = 10;
/** What is due for longer is not taken up by any program. */
const OVERDUE_SECONDS = 60;

export interface SessionRow {
  address: string | null;
  since: Date;
  lanes: number;
}

/** What the database knows of the programs, of itself, and of work that stands still. The primary: a replica has sessions of its own. */
@Injectable()
export class PlatformHealthRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** @param name under which a process keeps one session for as long as it works */
  sessions(name: string): Promise<SessionRow[]> {
    return this.prisma.$queryRaw<SessionRow[]>`
      WITH held AS MATERIALIZED (
        SELECT pid, count(*)::int4 AS lanes FROM pg_locks
         WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND granted GROUP BY pid
      )
      SELECT host(a.client_addr) AS address, a.backend_start AS since, coalesce(h.lanes, 0) AS lanes
        FROM pg_stat_activity a LEFT JOIN held h USING (pid)
       WHERE a.datname = current_database() AND a.application_name = ${name} AND a.backend_start IS NOT NULL
       ORDER BY a.backend_start LIMIT ${MAX_PROGRAMS}::int4`;
  }

  async overdue(): Promise<HealthQueue['overdue']> {
    const [overdue] = await this.prisma.$queryRaw<HealthQueue['overdue'][]>`
      WITH late AS (SELECT now() - make_interval(secs => ${OVERDUE_SECONDS}::int4) AS at)
      SELECT (SELECT count(*) FROM (SELECT FROM payments WHERE due_at < (SELECT at FROM late) LIMIT ${MAX_OVERDUE}::int4) p)::int4
               AS payments,
             (SELECT count(*) FROM (SELECT FROM webhook_endpoints WHERE due_at < (SELECT at FROM late) LIMIT ${MAX_OVERDUE}::int4) w)::int4
               AS webhook_endpoints,
             (SELECT count(*) FROM (SELECT FROM message_accounts WHERE due_at < (SELECT at FROM late) LIMIT ${MAX_OVERDUE}::int4) m)::int4
               AS message_accounts`;
    return overdue ?? { payments: 0, webhook_endpoints: 0, message_accounts: 0 };
  }

  async database(): Promise<HealthDatabase> {
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

  tables(): Promise<HealthTable[]> {
    return this.prisma.$queryRaw<HealthTable[]>`
      SELECT c.relname AS name,
             (pg_total_relation_size(c.oid)
              + coalesce((SELECT sum(pg_total_relation_size(i.inhrelid)) FROM pg_inherits i WHERE i.inhparent = c.oid), 0))::float8
               AS bytes,
             (CASE c.relkind
                WHEN 'p' THEN coalesce((SELECT sum(greatest(p.reltuples, 0)) FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhrelid
                                         WHERE i.inhparent = c.oid), 0)
                ELSE greatest(c.reltuples, 0) END)::float8 AS rows,
             (SELECT count(*) FROM pg_inherits i WHERE i.inhparent = c.oid)::int4 AS partitions
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition
       ORDER BY bytes DESC, name LIMIT ${LARGEST_TABLES}::int4`;
  }
}
