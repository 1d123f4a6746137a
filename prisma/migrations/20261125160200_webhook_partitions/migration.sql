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
-- All of these functions are the owner's or are called by the owner's: a name without a schema is none that a caller may have made.
CREATE FUNCTION partitioned_tables()
  RETURNS TABLE (name text, key text, prefix text, refers_to text, settings text, statistics text)
  LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
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
  LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp
AS $$
  SELECT c.relname::text, substring(b.bound FROM 'FROM \(''([^'']+)''\)'), substring(b.bound FROM 'TO \(''([^'']+)''\)')
    FROM public.partitioned_tables() t
    JOIN pg_catalog.pg_inherits i ON i.inhparent = to_regclass('public.' || quote_ident(t.name))
    JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid CROSS JOIN LATERAL (SELECT pg_get_expr(c.relpartbound, c.oid) AS bound) b
   WHERE t.name = of_table
$$;

-- For the owner's functions: nobody else may create anything in `parts`.
CREATE FUNCTION create_partition(of_table text, partition text, bounds text) RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE t record;
BEGIN
  SELECT * INTO STRICT t FROM public.partitioned_tables() WHERE name = of_table;
  EXECUTE format('CREATE TABLE parts.%I PARTITION OF public.%I FOR VALUES %s WITH (%s)', partition, of_table, bounds, t.settings);
  IF t.statistics IS NOT NULL THEN
    EXECUTE format('CREATE STATISTICS parts.%I %s FROM parts.%I', partition || '_of_endpoint', t.statistics, partition);
  END IF;
END $$;

-- A table and before it what it refers to, in the strongest mode that what follows needs: no lock is made stronger while it is held. To make
-- a partition or to take one off needs SHARE ROW EXCLUSIVE of it, to attach or to drop one ACCESS EXCLUSIVE. Each lock is waited for no longer
-- than the lock_timeout of who calls it.
CREATE FUNCTION shut_partitioned_table(of_table text, mode_of_other text) RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE t record;
BEGIN
  SELECT * INTO STRICT t FROM public.partitioned_tables() WHERE name = of_table;
  IF t.refers_to IS NOT NULL THEN
    EXECUTE format('LOCK TABLE public.%I IN %s MODE', t.refers_to, mode_of_other);
  END IF;
  EXECUTE format('LOCK TABLE ONLY public.%I IN ACCESS EXCLUSIVE MODE', of_table);
END $$;

-- Puts rows of a partition that is off into those that are there. `which` is a condition with $1.
CREATE FUNCTION put_back_rows(of_table text, partition text, which text, given anyelement) RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE columns text;
BEGIN
  SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) INTO columns FROM pg_catalog.pg_attribute
   WHERE attrelid = format('public.%I', of_table)::regclass AND attnum > 0 AND NOT attisdropped;
  EXECUTE format('WITH moved AS (DELETE FROM parts.%1$I WHERE %2$s RETURNING %3$s)
                  INSERT INTO public.%4$I (%3$s) SELECT %3$s FROM moved', partition, which, columns, of_table) USING given;
END $$;

-- One step on the way to partitions for three months ahead. The last partition ends at MAXVALUE, so that no row is ever refused. It gets an
-- upper bound, and a new last one follows it with its rows beyond that bound, of a clock that was ahead. It is read while the table is shut:
-- one with more rows than `at_most` stays as it is, until a person says a larger number.
-- @returns `made`; `enough`: nothing is to do; `crowded`: more rows than that
CREATE FUNCTION make_next_partition(of_table text, at_most integer DEFAULT 5000) RETURNS text
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '50ms'
AS $$
DECLARE
  t record;
  last_one record;
  ends timestamptz;
  upper_id text;
  counted text;
  is_crowded boolean;
BEGIN
  SELECT * INTO STRICT t FROM public.partitioned_tables() WHERE name = of_table;
  SELECT p.name, p.lower_id INTO STRICT last_one FROM public.partitions_of(of_table) p WHERE p.upper_id IS NULL;
  IF public.time_of_id(last_one.lower_id) >= now() + interval '3 months' THEN
    RETURN 'enough';
  END IF;
  ends := (public.time_of_id(last_one.lower_id) AT TIME ZONE 'UTC' + interval '1 month') AT TIME ZONE 'UTC';
  upper_id := public.first_id_at(t.prefix, ends);
  counted := format('SELECT EXISTS (SELECT FROM parts.%I OFFSET $1)', last_one.name);
  EXECUTE counted INTO is_crowded USING at_most;
  IF is_crowded THEN
    RETURN 'crowded';
  END IF;
  PERFORM public.shut_partitioned_table(of_table, 'ACCESS EXCLUSIVE');
  EXECUTE counted INTO is_crowded USING at_most;
  IF is_crowded THEN
    RETURN 'crowded';
  END IF;
  EXECUTE format('ALTER TABLE public.%I DETACH PARTITION parts.%I', of_table, last_one.name);
  PERFORM public.create_partition(of_table, of_table || to_char(ends AT TIME ZONE 'UTC', '_YYYYMM'),
                                  format('FROM (%L) TO (MAXVALUE)', upper_id));
  PERFORM public.put_back_rows(of_table, last_one.name, format('%I >= $1', t.key), upper_id);
  EXECUTE format('ALTER TABLE public.%I ATTACH PARTITION parts.%I FOR VALUES FROM (%L) TO (%L)', of_table, last_one.name,
                 last_one.lower_id, upper_id);
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

-- What of the ids from one to another may not leave: to be sent still, other than to an endpoint that has been deleted for so long, or
-- finished since.
CREATE FUNCTION staying_deliveries(from_id text, below text, before timestamptz, at_most integer) RETURNS text[]
  LANGUAGE plpgsql STABLE SET search_path = pg_catalog, public, pg_temp SET enable_seqscan = off
AS $$
DECLARE ids text[];
BEGIN
  SELECT array_agg(s.id) INTO ids FROM (
    SELECT d.id FROM public.webhook_deliveries d
     WHERE d.id >= coalesce(from_id, '') AND d.id < below AND d.state = 'pending'
       AND NOT EXISTS (SELECT FROM public.webhook_endpoints e WHERE e.id = d.endpoint_id AND e.deleted_at < before)
    UNION ALL
    SELECT d.id FROM public.webhook_deliveries d
     WHERE d.id >= coalesce(from_id, '') AND d.id < below AND d.state <> 'pending' AND d.finished_at >= before
    LIMIT at_most) s;
  RETURN coalesce(ids, '{}');
END $$;

-- Takes the oldest month off that ended so many days ago: attempts before their deliveries. What may not leave yet is moved into a partition
-- that takes its place, in the same transaction. A month of which that is more than five thousand deliveries stays as it is, and the next one
-- is looked at. What was kept of the months right before it goes with it as long as all that stays is no more than that. What was taken off
-- is read by nobody and holds nothing that moves; it stands in `released_partitions` until it is dropped.
-- @returns `none`: nothing is old enough; `held`: too much of what is may not leave; `released`
CREATE FUNCTION release_webhook_partitions(keep_days integer) RETURNS text
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '50ms' SET enable_seqscan = off
AS $$
DECLARE
  most CONSTANT integer := 5000;
  before timestamptz := now() - make_interval(days => greatest(keep_days, 1));
  month record;
  kept record;
  from_id text;
  is_held boolean := false;
  is_found boolean := false;
  staying text[];
  t record;
  leaving text[];
  partition text;
BEGIN
  FOR month IN
    SELECT d.lower_id, d.upper_id FROM public.partitions_of('webhook_deliveries') d
      JOIN public.partitions_of('webhook_attempts') a ON a.upper_id = d.upper_id AND a.lower_id IS NOT DISTINCT FROM d.lower_id
     WHERE d.upper_id <= public.first_id_at('dlv', before) AND d.name NOT LIKE '%\_kept\_%' ORDER BY d.upper_id
  LOOP
    is_found := cardinality(public.staying_deliveries(month.lower_id, month.upper_id, before, most + 1)) <= most;
    EXIT WHEN is_found;
    is_held := true;
  END LOOP;
  IF NOT is_found THEN
    RETURN CASE WHEN is_held THEN 'held' ELSE 'none' END;
  END IF;
  from_id := month.lower_id;
  LOOP
    SELECT p.lower_id INTO kept FROM public.partitions_of('webhook_deliveries') p
     WHERE p.upper_id = from_id AND p.name LIKE '%\_kept\_%';
    EXIT WHEN NOT FOUND OR cardinality(public.staying_deliveries(kept.lower_id, month.upper_id, before, most + 1)) > most;
    from_id := kept.lower_id;
  END LOOP;
  PERFORM public.shut_partitioned_table('webhook_deliveries', 'SHARE ROW EXCLUSIVE');
  PERFORM public.shut_partitioned_table('webhook_attempts', 'SHARE ROW EXCLUSIVE');
  staying := public.staying_deliveries(from_id, month.upper_id, before, most + 1);
  IF cardinality(staying) > most THEN
    RETURN 'held';
  END IF;
  FOR t IN SELECT * FROM public.partitioned_tables() WHERE name IN ('webhook_attempts', 'webhook_deliveries') ORDER BY name LOOP
    SELECT array_agg(p.name ORDER BY p.upper_id) INTO leaving FROM public.partitions_of(t.name) p
     WHERE p.upper_id <= month.upper_id AND (from_id IS NULL OR p.lower_id >= from_id);
    FOREACH partition IN ARRAY leaving LOOP
      EXECUTE format('ALTER TABLE public.%I DETACH PARTITION parts.%I', t.name, partition);
      INSERT INTO public.released_partitions (name, of_table) VALUES (partition, t.name);
    END LOOP;
    PERFORM public.create_partition(t.name, t.name || to_char(public.time_of_id(month.upper_id) AT TIME ZONE 'UTC', '_"kept"_YYYYMM'),
                                    format('FROM (%s) TO (%L)', coalesce(quote_literal(from_id), 'MINVALUE'), month.upper_id));
    FOREACH partition IN ARRAY leaving LOOP
      PERFORM public.put_back_rows(t.name, partition, format('%I = ANY ($1)', t.key), staying);
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
  SELECT * INTO STRICT r FROM public.released_partitions WHERE name = of_partition AND dropped_at IS NULL;
  IF r.of_table = 'webhook_attempts' THEN
    RETURN QUERY EXECUTE format('SELECT delivery_id || '':'' || lpad(number::text, 6, ''0''), to_jsonb(a)::text FROM parts.%I a
      WHERE (delivery_id, number) > ($1, $2) ORDER BY delivery_id, number LIMIT $3', r.name)
      USING split_part(after, ':', 1), coalesce(nullif(split_part(after, ':', 2), ''), '0')::integer, at_most;
  ELSE
    RETURN QUERY EXECUTE format('SELECT d.id, to_jsonb(d)::text FROM parts.%I d WHERE d.id > $1 ORDER BY d.id LIMIT $2', r.name)
      USING after, at_most;
  END IF;
END $$;

-- Drops what was taken off. With an archive only if its files, as they are recorded, hold as many rows as it has, and its first and last;
-- without, only where no file of webhooks is recorded: others archive them.
-- @returns false: it stays
CREATE FUNCTION drop_released_partition(of_partition text, is_archived boolean) RETURNS boolean
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '50ms'
AS $$
DECLARE
  r record;
  t record;
  is_whole boolean;
BEGIN
  SELECT * INTO STRICT r FROM public.released_partitions WHERE name = of_partition AND dropped_at IS NULL FOR UPDATE;
  SELECT * INTO STRICT t FROM public.partitioned_tables() WHERE name = r.of_table;
  IF is_archived THEN
    EXECUTE format('SELECT (count(*), min(%1$s), max(%1$s)) IS NOT DISTINCT FROM
        (SELECT (coalesce(sum(a.rows), 0)::bigint, min(a.first_id), max(a.last_id)) FROM public.archives a
          WHERE a.released = $1 AND a.state = ''written'')
        FROM parts.%2$I',
        CASE r.of_table WHEN 'webhook_attempts' THEN 'delivery_id || '':'' || lpad(number::text, 6, ''0'')' ELSE 'id' END, r.name)
      INTO is_whole USING r.name;
  ELSE
    is_whole := NOT EXISTS (SELECT FROM public.archives a WHERE a.released IS NOT NULL AND a.state <> 'abandoned');
  END IF;
  IF NOT is_whole THEN
    RETURN false;
  END IF;
  IF t.refers_to IS NOT NULL THEN
    EXECUTE format('LOCK TABLE public.%I IN ACCESS EXCLUSIVE MODE', t.refers_to);
  END IF;
  EXECUTE format('DROP TABLE parts.%I', r.name);
  UPDATE public.released_partitions SET dropped_at = now() WHERE name = r.name;
  UPDATE public.archives
     SET state = CASE WHEN state = 'written' THEN 'removed' ELSE 'abandoned' END::public.archive_state, removed = rows, removed_at = now()
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

REVOKE EXECUTE ON FUNCTION create_partition(text, text, text), shut_partitioned_table(text, text),
  put_back_rows(text, text, text, anyelement), make_next_partition(text, integer),
  staying_deliveries(text, text, timestamptz, integer), release_webhook_partitions(integer), read_released_partition(text, text, integer),
  drop_released_partition(text, boolean) FROM PUBLIC;
