-- The tables of today become the first partitions of tables with their names: no row is copied and none is read. Programs of the release
-- before find everything under its name. Everything is one transaction, so that they never meet a table without its policies or rights.

-- The programs' roles have no right here: partitions are read and written through their tables alone, with the rights and policies of these.
CREATE SCHEMA parts;
REVOKE ALL ON SCHEMA parts FROM PUBLIC;

-- What `LIKE` would not bring. Read before anything moves: the text of a policy names tables as they are called then.
CREATE TEMP TABLE policies_before ON COMMIT DROP AS
  SELECT c.relname AS of_table, p.polname AS name, pg_get_expr(p.polqual, p.polrelid) AS condition,
         (SELECT string_agg(quote_ident(pg_get_userbyid(r)), ', ') FROM unnest(p.polroles) AS r) AS roles
    FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid
   WHERE c.oid IN ('webhook_deliveries'::regclass, 'webhook_attempts'::regclass);
CREATE TEMP TABLE rights_before ON COMMIT DROP AS
  SELECT c.relname AS of_table, a.privilege_type AS may, quote_ident(pg_get_userbyid(a.grantee)) AS role
    FROM pg_class c, aclexplode(c.relacl) AS a
   WHERE c.oid IN ('webhook_deliveries'::regclass, 'webhook_attempts'::regclass) AND a.grantee NOT IN (0, c.relowner);
CREATE TEMP TABLE bound_before ON COMMIT DROP AS
  SELECT substring(pg_get_constraintdef(oid) FROM '''(dlv_[0-9a-z]{10})''') AS id FROM pg_constraint
   WHERE conrelid = 'webhook_deliveries'::regclass AND conname = 'webhook_deliveries_in_first';

-- A partition could not be taken off without reading all attempts of all other partitions, while both tables are shut.
ALTER TABLE webhook_attempts DROP CONSTRAINT webhook_attempts_delivery_id_fkey;

ALTER SEQUENCE webhook_deliveries_sequence_seq OWNED BY NONE;
ALTER STATISTICS webhook_deliveries_of_endpoint SET SCHEMA parts;
ALTER TABLE webhook_deliveries SET SCHEMA parts;
ALTER TABLE webhook_attempts SET SCHEMA parts;

CREATE TABLE webhook_deliveries (
    "id" TEXT NOT NULL,
    "sequence" BIGINT NOT NULL DEFAULT nextval('webhook_deliveries_sequence_seq'),
    "merchant_id" TEXT NOT NULL,
    "endpoint_id" TEXT NOT NULL,
    "event_position" BIGINT NOT NULL,
    "event_id" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "subject_id" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "state" "delivery_state" NOT NULL DEFAULT 'pending',
    "attempt_count" INTEGER NOT NULL DEFAULT 0,
    "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),
    "last_http_status" INTEGER,

    CONSTRAINT "webhook_deliveries_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "webhook_deliveries_endpoint_id_fkey" FOREIGN KEY ("endpoint_id") REFERENCES "webhook_endpoints"("id") ON DELETE RESTRICT ON UPDATE CASCADE
) PARTITION BY RANGE ("id");
CREATE INDEX "webhook_deliveries_due" ON "webhook_deliveries"("endpoint_id", "due_at") WHERE (state = 'pending'::delivery_state);
CREATE INDEX "webhook_deliveries_in_order" ON "webhook_deliveries"("endpoint_id", "subject_id", "sequence") WHERE (state = 'pending'::delivery_state);
CREATE INDEX "webhook_deliveries_newest" ON "webhook_deliveries"("endpoint_id", "id");
CREATE INDEX "webhook_deliveries_given_up" ON "webhook_deliveries"("endpoint_id", "id") WHERE (state = 'failed'::delivery_state);
CREATE INDEX "webhook_deliveries_failed_at" ON "webhook_deliveries"("endpoint_id", "finished_at") WHERE (state = 'failed'::delivery_state);
CREATE INDEX "webhook_deliveries_finished" ON "webhook_deliveries"("finished_at") WHERE (state <> 'pending'::delivery_state);
CREATE INDEX "webhook_deliveries_subject_id_idx" ON "webhook_deliveries"("subject_id");
ALTER SEQUENCE webhook_deliveries_sequence_seq OWNED BY webhook_deliveries.sequence;

CREATE TABLE webhook_attempts (
    "delivery_id" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "duration_ms" INTEGER NOT NULL,
    "outcome" TEXT NOT NULL,
    "http_status" INTEGER,
    "answer" TEXT,

    CONSTRAINT "webhook_attempts_pkey" PRIMARY KEY ("delivery_id","number")
) PARTITION BY RANGE ("delivery_id");

-- What is kept in partitions: the only names that the functions below take, and what each partition gets that its table cannot give it.
CREATE FUNCTION partitioned_tables()
  RETURNS TABLE (name text, key text, prefix text, refers_to text, settings text, statistics text)
  LANGUAGE sql IMMUTABLE SET search_path = pg_catalog
AS $$
  VALUES
    ('webhook_deliveries', 'id', 'dlv', 'webhook_endpoints',
     'autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 10000, autovacuum_analyze_scale_factor = 0.02, autovacuum_freeze_min_age = 0',
     '(dependencies) ON endpoint_id, merchant_id'),
    ('webhook_attempts', 'delivery_id', 'dlv', NULL,
     'autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_insert_threshold = 50000, autovacuum_freeze_min_age = 0',
     NULL)
$$;

-- The partitions that there are, with their bounds; null: MINVALUE, MAXVALUE.
CREATE FUNCTION partitions_of(of_table text) RETURNS TABLE (name text, lower_id text, upper_id text)
  LANGUAGE sql STABLE SET search_path = pg_catalog, public
AS $$
  SELECT c.relname::text, substring(b.bound FROM 'FROM \(''([^'']+)''\)'), substring(b.bound FROM 'TO \(''([^'']+)''\)')
    FROM partitioned_tables() t JOIN pg_inherits i ON i.inhparent = to_regclass('public.' || quote_ident(t.name))
    JOIN pg_class c ON c.oid = i.inhrelid CROSS JOIN LATERAL (SELECT pg_get_expr(c.relpartbound, c.oid) AS bound) b
   WHERE t.name = of_table
$$;

-- For the owner's functions: nobody else may create anything in `parts`.
CREATE FUNCTION create_partition(of_table text, partition text, bounds text) RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog, public
AS $$
DECLARE t record;
BEGIN
  SELECT * INTO STRICT t FROM partitioned_tables() WHERE name = of_table;
  EXECUTE format('CREATE TABLE parts.%I PARTITION OF public.%I FOR VALUES %s WITH (%s)', partition, of_table, bounds, t.settings);
  IF t.statistics IS NOT NULL THEN
    EXECUTE format('CREATE STATISTICS parts.%I %s FROM parts.%I', partition || '_of_endpoint', t.statistics, partition);
  END IF;
END $$;

-- Both tables and what they refer to, always in this order. Each lock is waited for no longer than the lock_timeout of who calls it.
CREATE FUNCTION shut_partitioned_table(of_table text) RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog, public
AS $$
DECLARE t record;
BEGIN
  SELECT * INTO STRICT t FROM partitioned_tables() WHERE name = of_table;
  IF t.refers_to IS NOT NULL THEN
    EXECUTE format('LOCK TABLE public.%I IN SHARE ROW EXCLUSIVE MODE', t.refers_to);
  END IF;
  EXECUTE format('LOCK TABLE ONLY public.%I IN ACCESS EXCLUSIVE MODE', of_table);
END $$;

-- One step on the way to partitions for three months ahead. The last partition ends at MAXVALUE, so that no row is ever refused; while it is
-- empty it gets an upper bound and a new last one follows it. One that has rows, as no keeper came for months, gets its bound as the tables
-- got theirs: said, held against its rows beside their writers, and only then used. @returns `enough` when there is nothing to do
CREATE FUNCTION make_next_partition(of_table text) RETURNS text
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '50ms'
AS $$
DECLARE
  t record;
  last_one record;
  ends timestamptz;
  upper_id text;
  has_rows boolean;
  bound record;
BEGIN
  SELECT * INTO STRICT t FROM partitioned_tables() WHERE name = of_table;
  SELECT p.name, p.lower_id INTO STRICT last_one FROM partitions_of(of_table) p WHERE p.upper_id IS NULL;
  IF time_of_id(last_one.lower_id) >= now() + interval '3 months' THEN
    RETURN 'enough';
  END IF;
  ends := (time_of_id(last_one.lower_id) AT TIME ZONE 'UTC' + interval '1 month') AT TIME ZONE 'UTC';
  upper_id := first_id_at(t.prefix, ends);
  EXECUTE format('SELECT EXISTS (SELECT FROM parts.%I)', last_one.name) INTO has_rows;
  IF has_rows THEN
    SELECT convalidated, substring(pg_get_constraintdef(oid) FROM '''([^'']+)''') AS upper_id INTO bound
      FROM pg_constraint WHERE conrelid = format('parts.%I', last_one.name)::regclass AND conname = 'bound_to_come';
    IF NOT FOUND THEN
      ends := greatest(ends, date_trunc('month', now() AT TIME ZONE 'UTC' + interval '21 days' + interval '1 month') AT TIME ZONE 'UTC');
      EXECUTE format('ALTER TABLE parts.%I ADD CONSTRAINT bound_to_come CHECK (%I < %L) NOT VALID', last_one.name, t.key,
                     first_id_at(t.prefix, ends));
      RETURN 'bound';
    ELSIF NOT bound.convalidated THEN
      EXECUTE format('ALTER TABLE parts.%I VALIDATE CONSTRAINT bound_to_come', last_one.name);
      RETURN 'held';
    END IF;
    upper_id := bound.upper_id;
    ends := time_of_id(upper_id);
  END IF;
  PERFORM shut_partitioned_table(of_table);
  IF NOT has_rows THEN
    EXECUTE format('SELECT EXISTS (SELECT FROM parts.%I)', last_one.name) INTO has_rows;
    IF has_rows THEN
      RETURN 'again';
    END IF;
  END IF;
  EXECUTE format('ALTER TABLE public.%I DETACH PARTITION parts.%I', of_table, last_one.name);
  EXECUTE format('ALTER TABLE public.%I ATTACH PARTITION parts.%I FOR VALUES FROM (%L) TO (%L)', of_table, last_one.name,
                 last_one.lower_id, upper_id);
  EXECUTE format('ALTER TABLE parts.%I DROP CONSTRAINT IF EXISTS bound_to_come', last_one.name);
  PERFORM create_partition(of_table, of_table || to_char(ends AT TIME ZONE 'UTC', '_YYYYMM'), format('FROM (%L) TO (MAXVALUE)', upper_id));
  RETURN 'made';
END $$;

-- CreateTable
CREATE TABLE "released_partitions" (
    "name" TEXT NOT NULL,
    "of_table" TEXT NOT NULL,
    "released_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "dropped_at" TIMESTAMPTZ(3),

    CONSTRAINT "released_partitions_pkey" PRIMARY KEY ("name")
);

-- CreateTable
CREATE TABLE "partition_rounds" (
    "keeper" TEXT NOT NULL,
    "ended_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "is_held" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "partition_rounds_pkey" PRIMARY KEY ("keeper")
);
INSERT INTO partition_rounds (keeper) VALUES ('webhooks');

ALTER TABLE archives ADD COLUMN released TEXT;

-- What may not leave with its partition: to be sent still, other than to an endpoint that has been deleted for so long, or finished since.
CREATE FUNCTION staying_deliveries(below text, before timestamptz, at_most integer) RETURNS text[]
  LANGUAGE plpgsql STABLE SET search_path = pg_catalog, public SET enable_seqscan = off
AS $$
DECLARE ids text[];
BEGIN
  SELECT array_agg(s.id) INTO ids FROM (
    SELECT d.id FROM webhook_deliveries d
     WHERE d.id < below AND d.state = 'pending'
       AND NOT EXISTS (SELECT FROM webhook_endpoints e WHERE e.id = d.endpoint_id AND e.deleted_at < before)
    UNION ALL
    SELECT d.id FROM webhook_deliveries d WHERE d.id < below AND d.state <> 'pending' AND d.finished_at >= before
    LIMIT at_most) s;
  RETURN coalesce(ids, '{}');
END $$;

-- Takes the oldest partitions off that end more than so many days ago: attempts before their deliveries. What may not leave yet is moved into
-- the partition from MINVALUE on that takes their place, in the same transaction; where that is more than five thousand deliveries nothing is
-- taken off. What was taken off is read by nobody and holds nothing that moves; it stands in `released_partitions` until it is dropped.
-- @returns `none`: nothing is old enough; `held`: too much may not leave; `released`
CREATE FUNCTION release_webhook_partitions(keep_days integer) RETURNS text
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '50ms' SET enable_seqscan = off
AS $$
DECLARE
  most CONSTANT integer := 5000;
  before timestamptz := now() - make_interval(days => greatest(keep_days, 1));
  bound text;
  staying text[];
  t record;
  leaving text[];
  partition text;
  columns text;
BEGIN
  SELECT min(d.upper_id) INTO bound FROM partitions_of('webhook_deliveries') d JOIN partitions_of('webhook_attempts') a USING (upper_id)
   WHERE d.upper_id <= first_id_at('dlv', before) AND d.name NOT LIKE '%\_kept\_%';
  IF bound IS NULL THEN
    RETURN 'none';
  END IF;
  IF cardinality(staying_deliveries(bound, before, most + 1)) > most THEN
    RETURN 'held';
  END IF;
  PERFORM shut_partitioned_table('webhook_deliveries');
  PERFORM shut_partitioned_table('webhook_attempts');
  staying := staying_deliveries(bound, before, most + 1);
  IF cardinality(staying) > most THEN
    RETURN 'held';
  END IF;
  FOR t IN SELECT * FROM partitioned_tables() WHERE name IN ('webhook_attempts', 'webhook_deliveries') ORDER BY name LOOP
    SELECT array_agg(p.name ORDER BY p.upper_id) INTO leaving FROM partitions_of(t.name) p WHERE p.upper_id <= bound;
    SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) INTO columns FROM pg_attribute
     WHERE attrelid = format('public.%I', t.name)::regclass AND attnum > 0 AND NOT attisdropped;
    FOREACH partition IN ARRAY leaving LOOP
      EXECUTE format('ALTER TABLE public.%I DETACH PARTITION parts.%I', t.name, partition);
      INSERT INTO released_partitions (name, of_table) VALUES (partition, t.name);
    END LOOP;
    PERFORM create_partition(t.name, t.name || to_char(time_of_id(bound) AT TIME ZONE 'UTC', '_"kept"_YYYYMM'),
                             format('FROM (MINVALUE) TO (%L)', bound));
    FOREACH partition IN ARRAY leaving LOOP
      EXECUTE format('WITH moved AS (DELETE FROM parts.%1$I WHERE %2$I = ANY($1) RETURNING %3$s)
                      INSERT INTO public.%4$I (%3$s) SELECT %3$s FROM moved', partition, t.key, columns, t.name) USING staying;
    END LOOP;
  END LOOP;
  RETURN 'released';
END $$;

-- The next rows of what was taken off, in their order, as an archive holds them. The settings are part of the text: its digest must not
-- depend on the session.
CREATE FUNCTION read_released_partition(of_partition text, after text, at_most integer) RETURNS TABLE (id text, line text)
  LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
  SET "TimeZone" TO 'UTC' SET bytea_output TO 'hex' SET "DateStyle" TO 'ISO, YMD'
AS $$
DECLARE r record;
BEGIN
  SELECT * INTO STRICT r FROM released_partitions WHERE name = of_partition AND dropped_at IS NULL;
  IF r.of_table = 'webhook_attempts' THEN
    RETURN QUERY EXECUTE format('SELECT delivery_id || '':'' || lpad(number::text, 6, ''0''), to_jsonb(a)::text FROM parts.%I a
      WHERE (delivery_id, number) > ($1, $2) ORDER BY delivery_id, number LIMIT $3', r.name)
      USING split_part(after, ':', 1), coalesce(nullif(split_part(after, ':', 2), ''), '0')::integer, at_most;
  ELSE
    RETURN QUERY EXECUTE format('SELECT d.id, to_jsonb(d)::text FROM parts.%I d WHERE d.id > $1 ORDER BY d.id LIMIT $2', r.name)
      USING after, at_most;
  END IF;
END $$;

-- Drops what was taken off. With an archive only if its files, as they are recorded, hold as many rows as it has, and its first and last.
-- @returns false: they do not
CREATE FUNCTION drop_released_partition(of_partition text, is_archived boolean) RETURNS boolean
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '50ms'
AS $$
DECLARE
  r record;
  is_whole boolean;
BEGIN
  SELECT * INTO STRICT r FROM released_partitions WHERE name = of_partition AND dropped_at IS NULL FOR UPDATE;
  IF is_archived THEN
    EXECUTE format('SELECT (count(*), min(%1$s), max(%1$s)) IS NOT DISTINCT FROM
        (SELECT (coalesce(sum(a.rows), 0)::bigint, min(a.first_id), max(a.last_id)) FROM archives a WHERE a.released = $1 AND a.state = ''written'')
        FROM parts.%2$I',
        CASE r.of_table WHEN 'webhook_attempts' THEN 'delivery_id || '':'' || lpad(number::text, 6, ''0'')' ELSE 'id' END, r.name)
      INTO is_whole USING r.name;
    IF NOT is_whole THEN
      RETURN false;
    END IF;
  END IF;
  EXECUTE format('DROP TABLE parts.%I', r.name);
  UPDATE released_partitions SET dropped_at = now() WHERE name = r.name;
  UPDATE archives SET state = CASE WHEN state = 'written' THEN 'removed'::archive_state ELSE 'abandoned' END, removed = rows, removed_at = now()
   WHERE released = r.name AND state IN ('writing', 'written');
  RETURN true;
END $$;

DO $$
DECLARE
  t record;
  p record;
  g record;
  bound text;
BEGIN
  SELECT id INTO STRICT bound FROM bound_before;
  FOR t IN SELECT * FROM partitioned_tables() LOOP
    FOR p IN SELECT * FROM policies_before WHERE of_table = t.name LOOP
      EXECUTE format('DROP POLICY %I ON parts.%I', p.name, t.name);
      EXECUTE format('CREATE POLICY %1$I ON public.%2$I TO %3$s USING (%4$s) WITH CHECK (%4$s)', p.name, t.name, p.roles, p.condition);
      EXECUTE format('ALTER TABLE public.%I ENABLE ROW LEVEL SECURITY', t.name);
    END LOOP;
    EXECUTE format('ALTER TABLE parts.%I DISABLE ROW LEVEL SECURITY', t.name);
    FOR g IN SELECT * FROM rights_before WHERE of_table = t.name LOOP
      EXECUTE format('REVOKE ALL ON parts.%I FROM %s', t.name, g.role);
      EXECUTE format('GRANT %s ON public.%I TO %s', g.may, t.name, g.role);
    END LOOP;
    EXECUTE format('ALTER TABLE parts.%I RENAME TO %I', t.name, t.name || '_first');
    EXECUTE format('ALTER TABLE public.%I ATTACH PARTITION parts.%I FOR VALUES FROM (MINVALUE) TO (%L)', t.name, t.name || '_first', bound);
    EXECUTE format('ALTER TABLE parts.%I DROP CONSTRAINT %I', t.name || '_first', t.name || '_in_first');
    PERFORM create_partition(t.name, t.name || to_char(time_of_id(bound) AT TIME ZONE 'UTC', '_YYYYMM'), format('FROM (%L) TO (MAXVALUE)', bound));
    WHILE make_next_partition(t.name) <> 'enough' LOOP
    END LOOP;
  END LOOP;
END $$;

REVOKE EXECUTE ON FUNCTION create_partition(text, text, text), shut_partitioned_table(text), make_next_partition(text),
  staying_deliveries(text, timestamptz, integer), release_webhook_partitions(integer), read_released_partition(text, text, integer),
  drop_released_partition(text, boolean) FROM PUBLIC;
