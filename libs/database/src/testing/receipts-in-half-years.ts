import pg from 'pg';

/** The table of today becomes the DEFAULT partition of a table with its name, in one transaction: no row is copied or read. */
const CONVERSION = `
-- What LIKE would not bring.
CREATE TEMP TABLE policies_before ON COMMIT DROP AS
  SELECT p.polname AS name, pg_get_expr(p.polqual, p.polrelid) AS condition,
         (SELECT string_agg(quote_ident(pg_get_userbyid(r)), ', ') FROM unnest(p.polroles) AS r) AS roles
    FROM pg_policy p WHERE p.polrelid = 'receipts'::regclass;
CREATE TEMP TABLE rights_before ON COMMIT DROP AS
  SELECT NULL::text AS of_column, a.privilege_type AS may, quote_ident(pg_get_userbyid(a.grantee)) AS role
    FROM pg_class c, aclexplode(c.relacl) AS a WHERE c.oid = 'receipts'::regclass AND a.grantee NOT IN (0, c.relowner)
  UNION ALL
  SELECT t.attname, a.privilege_type, quote_ident(pg_get_userbyid(a.grantee))
    FROM pg_attribute t, aclexplode(t.attacl) AS a WHERE t.attrelid = 'receipts'::regclass AND a.grantee <> 0;
CREATE TEMP TABLE triggers_before ON COMMIT DROP AS
  SELECT t.tgname AS name, pg_get_triggerdef(t.oid) AS text FROM pg_trigger t WHERE t.tgrelid = 'receipts'::regclass AND NOT t.tgisinternal;
-- Whose rows belong to whom their receipt belongs: they would go on reading the partition alone.
CREATE TEMP TABLE readers_before ON COMMIT DROP AS
  SELECT DISTINCT p.polrelid::regclass::text AS of_table, p.polname AS name, pg_get_expr(p.polqual, p.polrelid) AS condition
    FROM pg_policy p JOIN pg_depend d ON d.classid = 'pg_policy'::regclass AND d.objid = p.oid
   WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = 'receipts'::regclass AND p.polrelid <> 'receipts'::regclass;

DO $$
DECLARE t record;
BEGIN
  FOR t IN SELECT name FROM triggers_before LOOP
    EXECUTE format('DROP TRIGGER %I ON receipts', t.name);
  END LOOP;
END $$;
ALTER TABLE receipts SET SCHEMA parts;
CREATE TABLE receipts (LIKE parts.receipts INCLUDING DEFAULTS INCLUDING CONSTRAINTS, PRIMARY KEY (id)) PARTITION BY RANGE (id text_pattern_ops);

-- Their plans are kept: the one for given values would be made anew each time, as it is estimated to be cheaper where it leaves partitions out.
ALTER FUNCTION lane_waiting(text, integer) SET plan_cache_mode = force_generic_plan;
ALTER FUNCTION lane_places(text, integer) SET plan_cache_mode = force_generic_plan;
ALTER FUNCTION lane_length(text, integer) SET plan_cache_mode = force_generic_plan;
ALTER FUNCTION waiting_lanes_after(text, integer) SET plan_cache_mode = force_generic_plan;

DO $$
DECLARE p record;
BEGIN
  FOR p IN SELECT pg_get_indexdef(indexrelid) AS text FROM pg_index WHERE indrelid = 'parts.receipts'::regclass AND NOT indisunique LOOP
    EXECUTE replace(p.text, ' ON parts.receipts ', ' ON public.receipts ');
  END LOOP;
  FOR p IN SELECT * FROM policies_before LOOP
    EXECUTE format('DROP POLICY %I ON parts.receipts', p.name);
    EXECUTE format('CREATE POLICY %1$I ON public.receipts TO %2$s USING (%3$s) WITH CHECK (%3$s)', p.name, p.roles, p.condition);
    ALTER TABLE receipts ENABLE ROW LEVEL SECURITY;
  END LOOP;
  ALTER TABLE parts.receipts DISABLE ROW LEVEL SECURITY;
  FOR p IN SELECT * FROM readers_before LOOP
    EXECUTE format('ALTER POLICY %1$I ON %2$s USING (%3$s) WITH CHECK (%3$s)', p.name, p.of_table, p.condition);
  END LOOP;
  FOR p IN SELECT role, may, coalesce(' (' || quote_ident(of_column) || ')', '') AS of_column FROM rights_before LOOP
    EXECUTE format('REVOKE ALL%s ON parts.receipts FROM %s', p.of_column, p.role);
    EXECUTE format('GRANT %s%s ON public.receipts TO %s', p.may, p.of_column, p.role);
  END LOOP;
  FOR p IN SELECT text FROM triggers_before ORDER BY name LOOP
    EXECUTE p.text;
  END LOOP;
END $$;
ALTER TABLE parts.receipts RENAME TO receipts_first`;

/**
 * Puts receipts into partitions of half a year each, as docs/adr/0200-half-years-as-words-of-a-statement.md proposes it. Of a release it would be three
 * migrations: the bound of what is there, its check beside writers, and the swap.
 * @param ownerUrl of a database without receipts
 * @param starts the first moments of the half-years that get a partition; what is of none of them stands with sandboxes in the one that is left
 * @returns what PostgreSQL says of the partitions, with the level debug1
 */
export async function putReceiptsInHalfYears(ownerUrl: string, starts: readonly Date[]): Promise<string[]> {
  const owner = new pg.Client({ connectionString: ownerUrl });
  const notices: string[] = [];
  owner.on('notice', ({ message }) => notices.push(message ?? ''));
  await owner.connect();
  try {
    const { rows: halves } = await owner.query<{ from: string; to: string }>(
      `SELECT first_id_at('rcp', s) AS from, first_id_at('rcp', (s AT TIME ZONE 'UTC' + interval '6 months') AT TIME ZONE 'UTC') AS to
         FROM unnest($1::timestamptz[]) AS s ORDER BY 1`,
      [starts],
    );
    // By the operators of the partitions: by others each new one would have all of it read with the table shut.
    const bound = `CHECK (id ~<~ '${halves.at(0)?.from ?? ''}' OR id ~>=~ '${halves.at(-1)?.to ?? ''}')`;
    await owner.query(`
      BEGIN;
      ${CONVERSION};
      ALTER TABLE parts.receipts_first ADD CONSTRAINT receipts_in_first ${bound};
      SET client_min_messages = debug1;
      ALTER TABLE receipts ATTACH PARTITION parts.receipts_first DEFAULT;
      ${halves.map(createHalf).join('\n')}
      COMMIT`);
  } finally {
    await owner.end();
  }
  return notices;
}

/** With what its table cannot give it: settings, and how common a status and a type are (the migration rare_values). */
function createHalf({ from, to }: { from: string; to: string }): string {
  return `
    CREATE TABLE parts.receipts_${from} PARTITION OF receipts FOR VALUES FROM ('${from}') TO ('${to}') WITH (fillfactor = 75);
    ALTER TABLE parts.receipts_${from} ALTER COLUMN status SET (n_distinct = 200), ALTER COLUMN type SET (n_distinct = 200);`;
}
