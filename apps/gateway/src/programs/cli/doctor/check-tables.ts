import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { PrismaService } from '#database';
import { judged, well, type Finding } from './finding.js';

interface SessionRow {
  blocked: number;
  longest_blocked: number | null;
  oldest: number | null;
  oldest_of: string | null;
  prepared: number;
  /** Sessions whose transactions this role may not read. */
  hidden: number;
}

interface TableRow {
  name: string;
  dead: number;
  live: number;
}

/** What stands in each other's way, and what of the schema is not as the release wants it. */
export async function checkTables(database: PrismaService): Promise<Finding[]> {
  const [sessions, invalid, applied, tables] = await Promise.all([
    readSessions(database),
    database.$queryRaw<{ name: string }[]>`
      SELECT c.relname AS name FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
        JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE NOT i.indisvalid AND n.nspname IN ('public', 'parts', 'bullmq') ORDER BY 1`,
    database.$queryRaw<{ name: string; is_done: boolean }[]>`
      SELECT migration_name AS name, finished_at IS NOT NULL AS is_done FROM _prisma_migrations
       WHERE rolled_back_at IS NULL`,
    database.$queryRaw<TableRow[]>`
      SELECT relname AS name, n_dead_tup::float8 AS dead, n_live_tup::float8 AS live FROM pg_stat_user_tables
       WHERE n_dead_tup > 50000 AND n_dead_tup > n_live_tup * 0.3 ORDER BY n_dead_tup DESC LIMIT 10`,
  ]);
  return [...sessionFindings(sessions), indexFinding(invalid), migrationFinding(applied), bloatFinding(tables)];
}

async function readSessions(database: PrismaService): Promise<SessionRow> {
  const [row] = await database.$queryRaw<SessionRow[]>`
    WITH sessions AS (
      SELECT pid, application_name, xact_start, query_start, wait_event_type = 'Lock' AS is_blocked,
             usesysid IS NOT NULL AND query = '<insufficient privilege>' AS is_hidden
        FROM pg_stat_activity
       WHERE datname = current_database() AND pid <> pg_backend_pid()
    )
    SELECT count(*) FILTER (WHERE is_blocked)::int4 AS blocked,
           (extract(epoch FROM max(now() - query_start) FILTER (WHERE is_blocked)))::float8 AS longest_blocked,
           extract(epoch FROM max(now() - xact_start))::float8 AS oldest,
           (SELECT pid || ' ' || application_name FROM sessions WHERE xact_start IS NOT NULL ORDER BY xact_start LIMIT 1)
             AS oldest_of,
           (SELECT count(*)::int4 FROM pg_prepared_xacts WHERE prepared < now() - interval '1 minute') AS prepared,
           count(*) FILTER (WHERE is_hidden)::int4 AS hidden
      FROM sessions`;
  if (!row) throw new Error('the database returned nothing');
  return row;
}

function sessionFindings({ blocked, longest_blocked, oldest, oldest_of, prepared, hidden }: SessionRow): Finding[] {
  const query =
    'The first query of docs/runbook.md, "What to watch", shows it; pg_blocking_pids(pid) says who holds what it waits for.';
  return [
    judged(
      {
        check: 'waiting for locks',
        found: `${String(blocked)} sessions, the longest for ${seconds(longest_blocked)}`,
        advice: query,
      },
      longest_blocked ?? 0,
      { warn: 1, bad: 5 },
    ),
    judged(
      {
        check: 'oldest transaction',
        found: oldest === null ? 'none' : `${seconds(oldest)}, session ${oldest_of ?? ''}`,
        advice: `${query} One that is forgotten is ended with pg_terminate_backend(pid).`,
      },
      oldest ?? 0,
      { warn: 60, bad: 3_600 },
    ),
    ...(hidden === 0 ? [] : [hiddenFinding(hidden)]),
    judged(
      {
        check: 'prepared transactions',
        found: String(prepared),
        advice:
          'These programs prepare none: another one has left them. COMMIT PREPARED or ROLLBACK PREPARED, as its owner decides.',
      },
      prepared,
      { warn: 1, bad: 1 },
    ),
  ];
}

/** A person's `psql` or a dump under another role may hold the oldest transaction of all. */
function hiddenFinding(hidden: number): Finding {
  return {
    check: 'sessions of other roles',
    state: 'warn',
    found: `${String(hidden)} sessions whose transactions and waits are not shown to this role`,
    do: 'Ask pg_stat_activity as a superuser, or let this role see them: GRANT pg_read_all_stats TO the role of DATABASE_URL (it shows the texts of their statements too).',
  };
}

function indexFinding(invalid: readonly { name: string }[]): Finding {
  if (invalid.length === 0) return well('indexes', 'all valid');
  const found = `not valid: ${invalid.map(({ name }) => name).join(', ')}`;
  return {
    check: 'indexes',
    state: 'bad',
    found,
    do: 'npm run migrate (in a container: node scripts/migrate.mjs) builds them again.',
  };
}

function migrationFinding(applied: readonly { name: string; is_done: boolean }[]): Finding {
  const open = applied.filter(({ is_done: isDone }) => !isDone).map(({ name }) => name);
  const known = new Set(applied.map(({ name }) => name));
  const folder = join(process.cwd(), 'prisma', 'migrations');
  const wanted = existsSync(folder) ? readdirSync(folder).filter((name) => /^\d{14}_/.test(name)) : [];
  const missing = wanted.filter((name) => !known.has(name));
  if (open.length === 0 && missing.length === 0)
    return well('migrations', `${String(applied.length)} applied, none missing`);
  const found = [
    ...(missing.length > 0 ? [`missing: ${missing.join(', ')}`] : []),
    ...(open.length > 0 ? [`begun and not finished: ${open.join(', ')}`] : []),
  ].join('; ');
  return {
    check: 'migrations',
    state: 'bad',
    found,
    do: 'npm run migrate (in a container: node scripts/migrate.mjs).',
  };
}

function bloatFinding(tables: readonly TableRow[]): Finding {
  if (tables.length === 0) return well('dead rows', 'autovacuum keeps up');
  const found = tables.map(({ name, dead, live }) => `${name}: ${String(dead)} dead beside ${String(live)}`).join(', ');
  const advice =
    'Is an old transaction open? Else VACUUM these tables, and give autovacuum more (autovacuum_vacuum_cost_limit).';
  return { check: 'dead rows', state: 'warn', found, do: advice };
}

function seconds(value: number | null): string {
  return `${(value ?? 0).toFixed(0)} s`;
}
