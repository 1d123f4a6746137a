import { partitionedStatementOf } from './partitioned-index.mjs';

/** @typedef {{ name: string, sql: string }} IndexMigration */

const CREATED_TABLE = /\bCREATE TABLE (?:IF NOT EXISTS )?"?([a-z_]+)"?/gi;
const INDEX = /^CREATE (?:UNIQUE )?INDEX (?!CONCURRENTLY)"?([a-z0-9_]+)"? ON (?:ONLY )?"?([a-z_]+)"?/i;
const DROPPED_INDEX = /^DROP INDEX (?!CONCURRENTLY)(?:IF EXISTS )?"?([a-z0-9_]+)"?/i;

/**
 * What reads or rewrites a whole table while it holds up its writers. On a table that the same migration creates it is harmless.
 * @type {[what: RegExp, instead: string][]}
 */
const BLOCKING = [
  [
    /^ALTER TABLE "?([a-z_]+)"?[^;]*\bADD CONSTRAINT\b(?![^;]*\bNOT VALID\b)[^;]*\b(?:FOREIGN KEY|CHECK)\b/i,
    'NOT VALID, then VALIDATE',
  ],
  // A column may be called type.
  [/^ALTER TABLE "?([a-z_]+)"?[^;]*\bALTER COLUMN "?\w+"? (?:SET NOT NULL|TYPE|SET DATA TYPE)\b/i, 'a new column'],
  [
    /^ALTER TABLE "?([a-z_]+)"?[^;]*\bADD (?:CONSTRAINT "?[a-z_]+"? )?(?:UNIQUE|PRIMARY KEY)\b/i,
    'an index that is built CONCURRENTLY',
  ],
];

/**
 * What the programs of the release before cannot work with, which run beside the migrated database until each was restarted.
 * @type {[what: RegExp, instead: string][]}
 */
const BREAKING = [
  [/^DROP TABLE (?:IF EXISTS )?"?([a-z_]+)"?/i, 'in a later release, when no program names it'],
  [/^ALTER TABLE (?:ONLY )?"?([a-z_]+)"?[^;]*\bDROP COLUMN\b/i, 'in a later release, when no program names it'],
  [/^ALTER TABLE (?:ONLY )?"?([a-z_]+)"?[^;]*\bRENAME\b/i, 'a new one beside it, filled by both'],
  [/^ALTER TABLE (?:ONLY )?"?([a-z_]+)"?[^;]*\bALTER COLUMN\b[^;]*\bDROP DEFAULT\b/i, 'in a later release'],
  [
    /^ALTER TABLE (?:ONLY )?"?([a-z_]+)"?(?=[^;]*\bADD COLUMN\b[^,;]*\bNOT NULL\b)(?![^;]*\bADD COLUMN\b[^,;]*\b(?:DEFAULT|GENERATED)\b)/i,
    'with a DEFAULT: the release before writes rows without it',
  ],
  [/^ALTER TYPE "?([a-z_A-Z]+)"? RENAME\b/i, 'a new value beside it'],
  [/^DROP TYPE (?:IF EXISTS )?"?([a-z_A-Z]+)"?/i, 'in a later release, when no program names it'],
];
/** The third step of expand, migrate, contract: the migration since which nothing needs what goes here. */
const CONTRACT = /^-- contract: (\d{14}_\w+)$/m;

/**
 * Takes the indexes of tables that exist already out of a migration: each becomes one of its own, built or dropped CONCURRENTLY. That of a
 * table in partitions is written plainly, and built in each of them (partitioned-index.mjs).
 * @param {string} script as the schema engine writes it
 * @param {ReadonlySet<string>} partitioned names of tables in partitions, and of their indexes
 * @returns {{ rest: string | null, indexes: IndexMigration[] }}
 */
export function splitIndexes(script, partitioned) {
  const created = tablesCreatedBy(script);
  /** @type {IndexMigration[]} */
  const made = [];
  /** @type {IndexMigration[]} */
  const dropped = [];
  const rest = [];
  for (const statement of statementsOf(script)) {
    const concurrently = `${statement.replace(/\bINDEX\b/, 'INDEX CONCURRENTLY')};\n`;
    const [, name = '', table = ''] = INDEX.exec(bare(statement)) ?? [];
    const [, old = ''] = DROPPED_INDEX.exec(bare(statement)) ?? [];
    const sql = partitioned.has(table) || partitioned.has(old) ? `${statement};\n` : concurrently;
    if (name !== '' && !created.has(table)) made.push({ name, sql });
    else if (old !== '') dropped.push({ name: old, sql });
    else rest.push(`${statement};\n`);
  }
  const isReplaced = (/** @type {IndexMigration} */ { name }) => made.some((each) => each.name === name);
  const indexes = [
    ...dropped.filter(isReplaced).map(without),
    ...made,
    // The new index first: in between the old one still serves.
    ...dropped.filter((each) => !isReplaced(each)).map(without),
  ];
  return { rest: rest.length === 0 ? null : rest.join('\n'), indexes };
}

/**
 * @param {IndexMigration} dropped
 * @returns {IndexMigration}
 */
function without({ name, sql }) {
  return { name: `without_${name}`, sql };
}

/**
 * @param {string} sql
 * @param {ReadonlySet<string>} partitioned names of tables in partitions
 * @returns {string[]} a sentence for each statement that would hold up the writers of a table in use
 */
export function blockingStatements(sql, partitioned) {
  const created = tablesCreatedBy(sql);
  return statementsOf(sql).flatMap((statement) => {
    const text = bare(statement);
    const [, index, table = ''] = INDEX.exec(text) ?? [];
    if (index !== undefined && partitioned.has(table) && !created.has(table))
      return partitionedStatementOf(sql) === null
        ? [`${index} on ${table}: one plain CREATE INDEX in a migration of its own`]
        : [];
    if (index !== undefined && !created.has(table))
      return [`${index} on ${table}: CREATE INDEX CONCURRENTLY, in a migration of its own`];
    return BLOCKING.flatMap(([what, instead]) => {
      const [, changed] = what.exec(text) ?? [];
      return changed !== undefined && !created.has(changed) ? [`${text.slice(0, 80)}: ${instead}`] : [];
    });
  });
}

/**
 * @param {{ name: string, sql: string }} migration
 * @param {readonly { name: string }[]} all
 * @returns {string[]} a sentence for each statement that the release before cannot live with, unless the migration says by which earlier
 *   one it was prepared
 */
export function breakingStatements({ name, sql }, all) {
  const [, prepared] = CONTRACT.exec(sql) ?? [];
  if (prepared !== undefined) {
    const isKnown = all.some((each) => each.name === prepared) && prepared < name;
    return isKnown ? [] : [`contract: ${prepared} is no earlier migration`];
  }
  const created = tablesCreatedBy(sql);
  return statementsOf(sql).flatMap((statement) => {
    const text = bare(statement);
    return BREAKING.flatMap(([what, instead]) => {
      const [, changed] = what.exec(text) ?? [];
      return changed !== undefined && !created.has(changed) ? [`${text.slice(0, 80)}: ${instead}`] : [];
    });
  });
}

/** @param {string} sql */
function tablesCreatedBy(sql) {
  return new Set([...sql.matchAll(CREATED_TABLE)].map(([, table = '']) => table));
}

/**
 * Good for what the schema engine writes and for plain statements; a function's body comes out in pieces, which match nothing.
 * @param {string} sql
 */
function statementsOf(sql) {
  return sql
    .split(/;[ \t]*(?:\n|$)/)
    .map((statement) => statement.trim())
    .filter((statement) => bare(statement) !== '');
}

/** @param {string} statement */
function bare(statement) {
  return statement
    .replace(/--[^\n]*/g, '')
    .trim()
    .replace(/\s+/g, ' ');
}
