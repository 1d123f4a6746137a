import type pg from 'pg';

interface Table {
  name: string;
  columns: string;
}

/** Copies of a database beside it, in schemas of their own: what a dump has, and what putting it back leaves. */
export class DatabaseCopies {
  private copies = 0;

  private constructor(
    /** A superuser's. */
    private readonly sql: pg.Client,
    private readonly tables: readonly Table[],
    private readonly sequences: readonly string[],
  ) {}

  static async of(sql: pg.Client): Promise<DatabaseCopies> {
    const { rows: tables } = await sql.query<Table>(`
      SELECT format('%I', c.relname) AS name, string_agg(format('%I', a.attname), ', ' ORDER BY a.attnum) AS columns
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
       WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
         AND c.relname <> '_prisma_migrations' AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
       GROUP BY c.relname`);
    const { rows: sequences } = await sql.query<{ name: string }>(
      `SELECT format('%I', relname) AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'S'`,
    );
    return new DatabaseCopies(
      sql,
      tables,
      sequences.map(({ name }) => name),
    );
  }

  /** @returns what puts it back, as often as it is wanted; `besides` is done in the same moment */
  async take(): Promise<(besides?: string) => Promise<void>> {
    this.copies += 1;
    const schema = `copy_${this.copies}`;
    const made = this.tables.map(({ name }) => `CREATE TABLE ${schema}.${name} AS TABLE public.${name};`);
    const counted = this.sequences.map(
      (name) => `CREATE TABLE ${schema}."sequence ${unquoted(name)}" AS TABLE public.${name};`,
    );
    await this.sql.query(
      ['BEGIN ISOLATION LEVEL REPEATABLE READ;', `CREATE SCHEMA ${schema};`, ...made, ...counted, 'COMMIT'].join('\n'),
    );
    return (besides = '') => this.putBack(schema, besides);
  }

  private async putBack(schema: string, besides: string): Promise<void> {
    const emptied = this.tables.map(({ name }) => `DELETE FROM public.${name};`);
    const filled = this.tables.map(
      ({ name, columns }) =>
        `INSERT INTO public.${name} (${columns}) OVERRIDING SYSTEM VALUE SELECT ${columns} FROM ${schema}.${name};`,
    );
    const counted = this.sequences.map(
      (name) => `SELECT setval('public.${name}', last_value, is_called) FROM ${schema}."sequence ${unquoted(name)}";`,
    );
    // No trigger and no foreign key: they are the copy's rows as they were.
    await this.sql.query(
      [
        'BEGIN;',
        "SET LOCAL session_replication_role = 'replica';",
        ...emptied,
        ...filled,
        ...counted,
        besides,
        'COMMIT',
      ].join('\n'),
    );
  }
}

function unquoted(name: string): string {
  return name.replaceAll('"', '');
}
