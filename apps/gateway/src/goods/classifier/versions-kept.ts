import type { PrismaService } from '#database';

/** What is in force, and which earlier versions can be put in force again. */
export interface ContentInForce {
  /** The newest version; 0 = there is no register yet. */
  version: number;
  /** Whose content it has: its own, or an earlier one's that a person went back to. */
  content: number;
}

export interface KeptVersion {
  version: number;
  /** full, inactive, changes, lines or back; null: it came without a load, as the sample does. */
  kind: string | null;
  /** Of `back`. */
  restored_version: number | null;
  at: string | null;
  added: number | null;
  changed: number | null;
  ended: number | null;
}

export interface ClassifierStatus extends ContentInForce {
  /** `held`: a person went back, and nothing is fetched until `classifier resume` or a load by hand. */
  fetching: 'on' | 'held';
  /** Newest first, at most MAX_SHOWN. */
  versions: KeptVersion[];
}

type Database = Pick<PrismaService, '$queryRaw'>;

const MAX_SHOWN = 30;

export async function contentInForce(database: Database): Promise<ContentInForce> {
  const [row] = await database.$queryRaw<{ version: number; content: number }[]>`
    SELECT newest.version, coalesce(i.restored_version, newest.version) AS content
      FROM (SELECT greatest((SELECT max(version) FROM classifier_entries),
                            (SELECT max(version) FROM classifier_imports), 0) AS version) newest
      LEFT JOIN classifier_imports i ON i.version = newest.version`;
  return row ?? { version: 0, content: 0 };
}

/**
 * A version that was once in force, or the last of them before another: itself, or what it had restored. The history says
 * what every code was in it.
 * @returns null when there is none
 */
export async function restorable(
  database: Database,
  wanted: { version: number } | { before: number },
): Promise<number | null> {
  const [from, to] = 'version' in wanted ? [wanted.version, wanted.version] : [1, wanted.before - 1];
  const [row] = await database.$queryRaw<{ content: number | null }[]>`
    SELECT coalesce(i.restored_version, v.version) AS content
      FROM (SELECT max(version) AS version FROM (
              SELECT version FROM classifier_imports WHERE version BETWEEN ${from}::int AND ${to}::int
              UNION SELECT max(version) FROM classifier_entries WHERE version BETWEEN ${from}::int AND ${to}::int
              UNION SELECT max((entry->>'version')::int) FROM classifier_history
                     WHERE (entry->>'version')::int BETWEEN ${from}::int AND ${to}::int) known) v
      LEFT JOIN classifier_imports i ON i.version = v.version`;
  return row?.content ?? null;
}

export async function classifierStatus(database: Database): Promise<ClassifierStatus> {
  const inForce = await contentInForce(database);
  const versions = await database.$queryRaw<(Omit<KeptVersion, 'at'> & { at: Date | null })[]>`
    SELECT version, kind, restored_version, finished_at AS at, (result->>'added')::int AS added,
           (result->>'changed')::int AS changed, (result->>'ended')::int AS ended
      FROM classifier_imports WHERE version IS NOT NULL ORDER BY version DESC LIMIT ${MAX_SHOWN}`;
  const held = await database.$queryRaw<unknown[]>`SELECT 1 FROM classifier_imports WHERE holds_fetching LIMIT 1`;
  return {
    ...inForce,
    fetching: held.length > 0 ? 'held' : 'on',
    versions: versions.map((row) => ({ ...row, at: row.at?.toISOString() ?? null })),
  };
}
