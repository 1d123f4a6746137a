import type { PrismaService } from '#database';
import { judged, well, type Finding } from './finding.js';

interface Row {
  server_ms: number;
  version: number;
  settings: Record<string, string>;
  connections: number;
  standbys: number;
  age: number;
  lanes: number;
  archiver: Archiver;
}

/** As pg_stat_archiver has it; null: never. */
export interface Archiver {
  failed_wal: string | null;
  failed_after_success: boolean | null;
}

/** A setting of the server that is not as it has to be: [name, right values, state, what follows from it]. */
const SETTINGS: readonly [string, readonly string[], 'warn' | 'bad', string][] = [
  ['fsync', ['on'], 'bad', 'A crash of the machine loses receipts that were answered as accepted. Set fsync = on.'],
  ['full_page_writes', ['on'], 'bad', 'A crash may leave broken pages. Set full_page_writes = on.'],
  [
    'synchronous_commit',
    ['on', 'remote_apply', 'remote_write', 'local'],
    'bad',
    'A crash loses receipts that were answered as accepted. Set synchronous_commit = on.',
  ],
  ['autovacuum', ['on'], 'bad', 'Tables and indexes grow without end. Set autovacuum = on.'],
  [
    'archive_mode',
    ['on', 'always'],
    'warn',
    'Without an archive of the log a lost disk loses everything since the last backup (docs/backup.md).',
  ],
];

const MIN_VERSION = 150_000;
const CLOCK = { warn: 2, bad: 30 };
/** Transaction ids until the server refuses to write: 2.1 billion. */
const AGE = { warn: 1_000_000_000, bad: 1_600_000_000 };

/** The server: its clock against ours, what it keeps on disk, and what it has room for. */
export async function checkDatabase(database: PrismaService): Promise<Finding[]> {
  const names = [
    ...SETTINGS.map(([name]) => name),
    'max_connections',
    'max_locks_per_transaction',
    'synchronous_standby_names',
  ];
  const sentMs = Date.now();
  const [row] = await database.$queryRaw<Row[]>`
    SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS server_ms,
           current_setting('server_version_num')::int4 AS version,
           (SELECT jsonb_object_agg(name, setting) FROM pg_settings WHERE name = ANY(${names}::text[])) AS settings,
           (SELECT count(*)::int4 FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
           (SELECT count(*)::int4 FROM pg_stat_replication) AS standbys,
           (SELECT jsonb_build_object('failed_wal', last_failed_wal, 'failed_after_success',
                                      last_failed_time > coalesce(last_archived_time, '-infinity'))
              FROM pg_stat_archiver) AS archiver,
           (SELECT max(age(datfrozenxid))::float8 FROM pg_database) AS age,
           (SELECT count(*)::int4 FROM lanes) AS lanes`;
  if (!row) throw new Error('the database returned nothing');
  const roundTripMs = Date.now() - sentMs;
  return [
    clockFinding(row.server_ms - (sentMs + roundTripMs / 2), roundTripMs),
    row.version >= MIN_VERSION
      ? well('database version', String(Math.floor(row.version / 10_000)))
      : {
          check: 'database version',
          state: 'bad',
          found: String(row.version),
          do: 'PostgreSQL 15 or newer is needed.',
        },
    ...SETTINGS.map((rule) => settingFinding(rule, row.settings)),
    archiverFinding(row.archiver),
    standbyFinding(row),
    ...roomFindings(row),
    judged(
      {
        check: 'transaction ids',
        found: `${String(row.age)} used of 2 100 000 000 since the last freeze`,
        advice:
          'Find the oldest transaction or replication slot, then VACUUM (FREEZE) the oldest tables: the server stops writing at the end.',
      },
      row.age,
      AGE,
    ),
  ];
}

function clockFinding(apartMs: number, roundTripMs: number): Finding {
  const seconds = Math.abs(apartMs) / 1_000;
  const found = `the database is ${(apartMs / 1_000).toFixed(1)} s ahead of this machine (a question takes ${String(roundTripMs)} ms)`;
  const advice =
    'Check the time service of both machines: tokens and signatures are judged by this clock, leases by the other.';
  return judged({ check: 'clock', found, advice }, seconds, CLOCK);
}

function settingFinding(
  [name, right, state, advice]: (typeof SETTINGS)[number],
  settings: Readonly<Record<string, string>>,
): Finding {
  const value = settings[name] ?? 'unknown';
  return right.includes(value) ? well(name, value) : { check: name, state, found: value, do: advice };
}

/** What cannot be archived stays on the server's disk until that is full. */
export function archiverFinding({ failed_wal: failed, failed_after_success: isFailing }: Archiver): Finding {
  if (isFailing !== true) return well('archiving of the log', 'no failure since the last success');
  const advice =
    'See the log of the server for what archive_command said: until it works, the log grows on its disk and a lost disk loses what is not archived (docs/backup.md).';
  return { check: 'archiving of the log', state: 'bad', found: `${String(failed)} could not be archived`, do: advice };
}

function standbyFinding({ settings, standbys }: Row): Finding {
  const names = settings['synchronous_standby_names'] ?? '';
  const found = `${String(standbys)} standbys, synchronous: ${names === '' ? 'none' : names}`;
  if (names !== '') return well('standby', found);
  const advice =
    'An asynchronous standby that is promoted may lack the last receipts; registers then have to be compared (docs/backup.md).';
  return { check: 'standby', state: 'warn', found, do: advice };
}

function roomFindings({ settings, connections, lanes }: Row): Finding[] {
  const maxConnections = Number(settings['max_connections']);
  const locks = maxConnections * Number(settings['max_locks_per_transaction']);
  return [
    judged(
      {
        check: 'connections',
        found: `${String(connections)} of ${String(maxConnections)} taken`,
        advice:
          'Raise max_connections, or start fewer programs: each gateway and relay takes up to 31 (docs/adr/0055-pools-by-purpose.md).',
      },
      connections / maxConnections,
      { warn: 0.8, bad: 0.95 },
    ),
    judged(
      {
        check: 'locks',
        found: `room for ${String(locks)}, ${String(lanes)} lanes`,
        advice: 'Raise max_locks_per_transaction: each lane in hand holds one lock.',
      },
      lanes / locks,
      { warn: 0.7, bad: 1 },
    ),
  ];
}
