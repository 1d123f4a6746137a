import type pg from 'pg';
import type { Logger } from '#runtime';

/** A way to distinguish this database from a copy of it. `kind` is part of what is kept: values of two kinds cannot be compared. */
interface Fact {
  kind: string;
  query: string;
}

/** Of tables that are made anew the number is another one. Every server says it. */
const TABLES: Fact = { kind: '', query: "SELECT 'receipts'::regclass::oid::text AS value" };
const ADDRESS = "coalesce(host(inet_server_addr()), 'local') || ':' || coalesce(inet_server_port(), 0)";

/**
 * Another cluster (pg_dump into a new one, pg_upgrade), another timeline (point-in-time recovery, a promoted standby) or
 * tables made anew (pg_restore --clean) each change one part. The first fact of a part that the server gives is used: managed
 * PostgreSQL may deny those about the control file and the log. The timeline of the log before that of the control file, which
 * lags behind. An address changes with every new server, also where nothing was put back.
 */
const PARTS: readonly (readonly Fact[])[] = [
  [
    { kind: '', query: 'SELECT system_identifier::text AS value FROM pg_control_system()' },
    { kind: 'server=', query: `SELECT ${ADDRESS} AS value` },
  ],
  [
    { kind: '', query: 'SELECT substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) AS value' },
    { kind: 'checkpoint=', query: 'SELECT timeline_id::text AS value FROM pg_control_checkpoint()' },
    { kind: 'server=', query: `SELECT ${ADDRESS} AS value` },
  ],
  [TABLES],
];

/** Denied, not there, or not implemented: the server will say the same the next time. */
const REFUSALS: ReadonlySet<unknown> = new Set(['42501', '42883', '0A000']);

/** What {@link isSameDatabase} compares, as it is kept in `database_identity`. */
export async function readIdentity(client: pg.Client, logger: Logger): Promise<string> {
  const parts: string[] = [];
  for (const facts of PARTS) parts.push(await readPart(client, facts, logger));
  return parts.join('/');
}

/**
 * The same identity with the tables of this moment. Read again with the row of `database_identity` in hand: a migration that makes the table anew
 * writes that row in its own transaction, and may have ended while the row was waited for.
 */
export async function withTablesOfNow(client: pg.Client, identity: string): Promise<string> {
  const { rows } = await client.query<{ value: string }>(TABLES.query);
  return [...identity.split('/').slice(0, -1), rows[0]?.value ?? ''].join('/');
}

async function readPart(client: pg.Client, facts: readonly Fact[], logger: Logger): Promise<string> {
  const refusals: unknown[] = [];
  for (const { kind, query } of facts) {
    try {
      const { rows } = await client.query<{ value: string }>(query);
      const value = `${kind}${rows[0]?.value ?? ''}`;
      if (refusals.length > 0)
        logger.warn(
          { err: refusals[0], used_instead: value },
          'the server does not say which database it is: a copy that is put back may pass for the original',
        );
      return value;
    } catch (error) {
      if (!REFUSALS.has((error as { code?: unknown }).code)) throw error;
      refusals.push(error);
    }
  }
  throw new Error('the server gives no identity of its database', { cause: refusals[0] });
}

export function isSameDatabase(before: string, now: string): boolean {
  return areSame(before.split('/'), now.split('/'));
}

/** The same tables of the same cluster, perhaps on another timeline: transactions are numbered on from where the copy was. */
export function isSameCluster(before: string, now: string): boolean {
  const withoutTimeline = (identity: string): string[] => identity.split('/').filter((_, index) => index !== 1);
  return areSame(withoutTimeline(before), withoutTimeline(now));
}

/** Parts of two kinds say nothing: a right was given or taken away, and the database may be the same. */
function areSame(before: readonly string[], now: readonly string[]): boolean {
  if (before.length !== now.length) return false;
  return before.every((part, index) => {
    const other = now[index] ?? '';
    return part === other || kindOf(part) !== kindOf(other);
  });
}

function kindOf(part: string): string {
  return part.slice(0, part.indexOf('=') + 1);
}
