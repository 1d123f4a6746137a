-- The table of today becomes a partition of a table with its name: no row is copied, and none is read. Everything is one transaction, so that
-- programs never meet a table without its policies, rights or triggers.
--
-- By halves of a year, and not by months: a statement that names no time prepares each partition, and of five years there are twelve in place of
-- sixty-four. The table of today is the DEFAULT partition: it has what is before the first half-year, and receipts of sandboxes, which stand behind
-- all of them. Its constraint `receipts_in_first` stays, so that no later partition has it read.

-- All that is shut, before anything is done with it: a program that has one of them gets it before this waits for the next, or this is begun again.
SELECT FROM database_identity FOR UPDATE;
LOCK TABLE ONLY attempts, ONLY archived_attempts, ONLY idempotency_claims, ONLY receipts IN ACCESS EXCLUSIVE MODE;

DO $$
DECLARE hanging text := what_hangs_on_receipts();
BEGIN
  IF hanging IS NOT NULL THEN
    RAISE EXCEPTION 'something hangs on the table receipts that partitions of it would not have: %', hanging
      USING HINT = 'It has come since the migration before the one before this. Take it away and run the migrations again at once: until they end, receipts of a half-year to come would be refused.';
  END IF;
END $$;
DROP FUNCTION what_hangs_on_receipts();

-- What `LIKE` would not bring.
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
CREATE TEMP TABLE bound_before ON COMMIT DROP AS
  SELECT substring(pg_get_constraintdef(oid) FROM '''(rcp_[0-9a-z]{10})''') AS id, 'receipts'::regclass::oid AS of_table FROM pg_constraint
   WHERE conrelid = 'receipts'::regclass AND conname = 'receipts_in_first';

-- It takes a row of the table, and would go on taking one of the partition.
DROP FUNCTION receipt_line(receipts);
DO $$
DECLARE t record;
BEGIN
  FOR t IN SELECT name FROM triggers_before LOOP
    EXECUTE format('DROP TRIGGER %I ON receipts', t.name);
  END LOOP;
END $$;
ALTER TABLE receipts SET SCHEMA parts;

CREATE TABLE receipts (
    "id" TEXT NOT NULL,
    "merchant_id" TEXT NOT NULL,
    "client_id" TEXT NOT NULL,
    "operation" TEXT NOT NULL,
    "idempotency_key" TEXT,
    "external_id" TEXT,
    "body_hash" BYTEA NOT NULL,
    "type" "receipt_type" NOT NULL,
    "status" "receipt_status" NOT NULL,
    "lane_place" BIGINT,
    "device_id" TEXT,
    "branch_id" TEXT,
    "cashier_id" TEXT,
    "total_tiyin" BIGINT NOT NULL,
    "vat_total_tiyin" BIGINT NOT NULL,
    "refund_of" TEXT,
    "payment_id" TEXT,
    "dispatch_before" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "terminal_id" TEXT,
    "receipt_seq" BIGINT,
    "fiscal_sign" TEXT,
    "verification_url" TEXT,
    "registered_at" TIMESTAMPTZ(3),
    "evidence" "evidence",
    "ofd_status" "ofd_status",
    "ofd_deadline_at" TIMESTAMPTZ(3),
    "ofd_sent_at" TIMESTAMPTZ(3),
    "ofd_error" TEXT,
    "rejection" JSONB,
    "ofd_alerts" SMALLINT NOT NULL DEFAULT 0,
    "extra_info" JSONB,
    "recorded_fields" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "shift_number" INTEGER,
    "moved_from" TEXT[],
    "trace_parent" TEXT,
    "document" JSONB NOT NULL,

    CONSTRAINT "receipts_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "receipts_in_lane_have_place" CHECK (status NOT IN ('accepted', 'sending') OR (lane_place IS NOT NULL AND device_id IS NOT NULL)),
    CONSTRAINT "receipts_registered_are_fiscal" CHECK ((status = 'registered') = (receipt_seq IS NOT NULL AND terminal_id IS NOT NULL AND registered_at IS NOT NULL))
) PARTITION BY RANGE ("id" text_pattern_ops);
-- How common a status or a type is, as the migration rare_values says it; partitions get it from here (create_partition).
ALTER TABLE receipts ALTER COLUMN status SET (n_distinct = 200, n_distinct_inherited = 200), ALTER COLUMN type SET (n_distinct = 200, n_distinct_inherited = 200);

CREATE INDEX "receipts_at_rest" ON "receipts"("merchant_id", "id") WHERE (status <> ALL (ARRAY['awaiting_payment'::receipt_status, 'accepted'::receipt_status, 'sending'::receipt_status, 'unknown'::receipt_status]));
CREATE INDEX "receipts_at_rest_by_branch" ON "receipts"("branch_id", "id") WHERE (status <> ALL (ARRAY['awaiting_payment'::receipt_status, 'accepted'::receipt_status, 'sending'::receipt_status, 'unknown'::receipt_status]));
CREATE INDEX "receipts_at_rest_by_cashier" ON "receipts"("cashier_id", "id") WHERE (status <> ALL (ARRAY['awaiting_payment'::receipt_status, 'accepted'::receipt_status, 'sending'::receipt_status, 'unknown'::receipt_status]));
CREATE INDEX "receipts_at_rest_by_device" ON "receipts"("device_id", "id") WHERE (status <> ALL (ARRAY['awaiting_payment'::receipt_status, 'accepted'::receipt_status, 'sending'::receipt_status, 'unknown'::receipt_status]));
CREATE INDEX "receipts_at_rest_by_total" ON "receipts"("merchant_id", "total_tiyin", "id") WHERE (status <> ALL (ARRAY['awaiting_payment'::receipt_status, 'accepted'::receipt_status, 'sending'::receipt_status, 'unknown'::receipt_status]));
CREATE INDEX "receipts_by_registration" ON "receipts"("merchant_id", "registered_at", "id") WHERE (status = 'registered'::receipt_status);
CREATE INDEX "receipts_not_sales" ON "receipts"("merchant_id", "id") WHERE (type = ANY (ARRAY['refund'::receipt_type, 'advance'::receipt_type, 'credit'::receipt_type]));
CREATE INDEX "receipts_not_sales_by_registration" ON "receipts"("merchant_id", "registered_at", "id") WHERE (type = ANY (ARRAY['refund'::receipt_type, 'advance'::receipt_type, 'credit'::receipt_type]));
CREATE INDEX "receipts_of_shift" ON "receipts"("terminal_id", "registered_at") WHERE (status = 'registered'::receipt_status);
CREATE INDEX "receipts_ofd_alarmed" ON "receipts"("ofd_deadline_at") WHERE ((ofd_status = 'pending'::ofd_status) AND (ofd_alerts = 2));
CREATE INDEX "receipts_ofd_alerts" ON "receipts"("ofd_alerts", "ofd_deadline_at") WHERE (ofd_status = 'pending'::ofd_status AND ofd_alerts < 2);
CREATE INDEX "receipts_refunds_of" ON "receipts"("refund_of", "id") WHERE (refund_of IS NOT NULL);
CREATE INDEX "receipts_refused_newest" ON "receipts"("merchant_id", "id") WHERE (status = ANY (ARRAY['rejected'::receipt_status, 'cancelled'::receipt_status]));
CREATE INDEX "receipts_under_way" ON "receipts"("merchant_id", "id") WHERE (status = ANY (ARRAY['awaiting_payment'::receipt_status, 'accepted'::receipt_status, 'sending'::receipt_status, 'unknown'::receipt_status]));
CREATE INDEX "receipts_unsent" ON "receipts"("device_id", "ofd_deadline_at") WHERE (ofd_status = 'pending'::ofd_status);
CREATE INDEX "receipts_waiting_in_lane" ON "receipts"("device_id", "lane_place") WHERE (status = 'accepted'::receipt_status);

-- As before.
CREATE FUNCTION receipt_line(r receipts) RETURNS text
  LANGUAGE sql STABLE
  SET "TimeZone" TO 'UTC' SET bytea_output TO 'hex' SET "DateStyle" TO 'ISO, YMD'
AS $$ SELECT to_jsonb(r)::text $$;

-- Their plans are kept: the one for given values would be made anew each time, as it is estimated to be cheaper where it leaves partitions out.
ALTER FUNCTION lane_waiting(text, integer) SET plan_cache_mode = force_generic_plan;
ALTER FUNCTION lane_places(text, integer) SET plan_cache_mode = force_generic_plan;
ALTER FUNCTION lane_length(text, integer) SET plan_cache_mode = force_generic_plan;
ALTER FUNCTION waiting_lanes_after(text, integer) SET plan_cache_mode = force_generic_plan;
ALTER FUNCTION waiting_receipts(integer) SET plan_cache_mode = force_generic_plan;
ALTER FUNCTION unsent_before(smallint, timestamptz, integer) SET plan_cache_mode = force_generic_plan;
ALTER FUNCTION receipts_claims_follow() SET plan_cache_mode = force_generic_plan;
ALTER FUNCTION remove_archived_receipts(text, text[], text[]) SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off;
ALTER FUNCTION receipts_that_may_leave(text[], timestamptz) SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off;

-- As before, and receipts.
CREATE OR REPLACE FUNCTION partitioned_tables()
  RETURNS TABLE (name text, key text, prefix text, refers_to text, settings text, statistics text)
  LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
  VALUES
    ('webhook_deliveries', 'id', 'dlv', 'webhook_endpoints',
     'autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 10000, autovacuum_analyze_scale_factor = 0.02, autovacuum_freeze_min_age = 0',
     '(dependencies) ON endpoint_id, merchant_id'),
    ('webhook_attempts', 'delivery_id', 'dlv', NULL,
     'autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_insert_threshold = 50000, autovacuum_freeze_min_age = 0',
     NULL),
    ('events', 'id', 'evt', NULL,
     'autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_insert_threshold = 50000, autovacuum_freeze_min_age = 0',
     NULL),
    ('payment_calls', 'started_at', NULL, NULL,
     'autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 10000, autovacuum_analyze_scale_factor = 0.02, autovacuum_freeze_min_age = 0',
     NULL),
    ('provider_callbacks', 'received_at', NULL, NULL,
     'autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 10000, autovacuum_analyze_scale_factor = 0.02, autovacuum_freeze_min_age = 0',
     NULL),
    ('attempts', 'receipt_id', 'rcp', NULL,
     'fillfactor = 75, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 10000, autovacuum_analyze_scale_factor = 0.02, autovacuum_freeze_min_age = 0',
     NULL),
    ('receipts', 'id', 'rcp', NULL,
     'fillfactor = 75, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 10000, autovacuum_analyze_scale_factor = 0.02, autovacuum_freeze_min_age = 0',
     NULL)
$$;

-- As before, and receipts, whose sandboxes stand behind all partitions.
CREATE OR REPLACE FUNCTION end_of_months(of_table text) RETURNS text
  LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT CASE WHEN of_table IN ('attempts', 'receipts') THEN '''rcp_t''' ELSE 'MAXVALUE' END $$;

-- How long a partition is.
CREATE FUNCTION partition_length(of_table text) RETURNS interval
  LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT CASE of_table WHEN 'receipts' THEN interval '6 months' ELSE interval '1 month' END $$;

-- As before, and what is said of the columns of its table.
CREATE OR REPLACE FUNCTION create_partition(of_table text, partition text, bounds text) RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
  t record;
  said record;
BEGIN
  SELECT * INTO STRICT t FROM public.partitioned_tables() WHERE name = of_table;
  EXECUTE format('CREATE TABLE parts.%I PARTITION OF public.%I FOR VALUES %s WITH (%s)', partition, of_table, bounds, t.settings);
  FOR said IN
    SELECT a.attname, split_part(o, '=', 2) AS n FROM pg_catalog.pg_attribute a, unnest(a.attoptions) AS o
     WHERE a.attrelid = format('public.%I', of_table)::regclass AND o LIKE 'n\_distinct=%'
  LOOP
    EXECUTE format('ALTER TABLE parts.%I ALTER COLUMN %I SET (n_distinct = %s)', partition, said.attname, said.n);
  END LOOP;
  IF t.statistics IS NOT NULL THEN
    EXECUTE format('CREATE STATISTICS parts.%I %s FROM parts.%I', partition || '_of_endpoint', t.statistics, partition);
  END IF;
END $$;

-- As before, and in no transaction that sees what was there when it began: what another one has written since, and what was waited for, would not be
-- among the rows that are counted and put back, and would be dropped.
CREATE OR REPLACE FUNCTION shut_partitioned_table(of_table text, mode_of_other text) RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
  t record;
  in_no_month regclass;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'partitions are changed in a transaction that is read committed, not %', current_setting('transaction_isolation');
  END IF;
  SELECT * INTO STRICT t FROM public.partitioned_tables() WHERE name = of_table;
  SELECT nullif(p.partdefid, 0) INTO in_no_month FROM pg_catalog.pg_partitioned_table p WHERE p.partrelid = format('public.%I', of_table)::regclass;
  IF in_no_month IS NOT NULL THEN
    EXECUTE format('LOCK TABLE ONLY %s IN SHARE UPDATE EXCLUSIVE MODE', in_no_month);
  END IF;
  IF t.refers_to IS NOT NULL THEN
    EXECUTE format('LOCK TABLE public.%I IN %s MODE', t.refers_to, mode_of_other);
  END IF;
  EXECUTE format('LOCK TABLE ONLY public.%I IN ACCESS EXCLUSIVE MODE', of_table);
END $$;

-- As before, and all of them: a row that a trigger leaves out would be lost.
CREATE OR REPLACE FUNCTION put_back_rows(of_table text, partition text, which text, given anyelement) RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
  columns text;
  taken bigint;
  put bigint;
BEGIN
  SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) INTO columns FROM pg_catalog.pg_attribute
   WHERE attrelid = format('public.%I', of_table)::regclass AND attnum > 0 AND NOT attisdropped;
  EXECUTE format('WITH moved AS (DELETE FROM parts.%1$I WHERE %2$s RETURNING %3$s), put AS (INSERT INTO public.%4$I (%3$s) SELECT %3$s FROM moved RETURNING true)
                  SELECT (SELECT count(*) FROM moved), (SELECT count(*) FROM put)', partition, which, columns, of_table) INTO taken, put USING given;
  IF taken <> put THEN
    RAISE EXCEPTION '% rows of % were to be put into %, and % were', taken, partition, of_table, put;
  END IF;
END $$;

-- As before, each as long as those of its table are.
CREATE OR REPLACE FUNCTION make_next_partition(of_table text, at_most integer DEFAULT 5000) RETURNS text
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
  ends := (public.time_of_id(last_one.lower_id) AT TIME ZONE 'UTC' + public.partition_length(of_table)) AT TIME ZONE 'UTC';
  upper_id := public.bound_at(t.prefix, ends);
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
                                  format('FROM (%L) TO (%s)', upper_id, public.end_of_months(of_table)));
  PERFORM public.put_back_rows(of_table, last_one.name,
                               format('%I >= $1%s', t.key, CASE WHEN t.prefix IS NULL THEN '::timestamptz' END), upper_id);
  EXECUTE format('ALTER TABLE public.%I ATTACH PARTITION parts.%I FOR VALUES FROM (%L) TO (%L)', of_table, last_one.name,
                 last_one.lower_id, upper_id);
  RETURN 'made';
END $$;

-- As release_attempt_partitions before it, and of receipts: takes off the oldest partition that ended so many days ago and whose rows have left one by
-- one for archives, as long as no more of them than two thousand are left, with what was kept of those right before it. What is left is moved into a
-- partition that takes their place, and the rest is dropped in the same transaction: it has no row. One with more than that stays, and the next
-- one is asked for. What is left is found by its index; where that takes long, as rows that have left are not vacuumed yet, a partition waits
-- as well: it would be found so again with the table shut.
-- @returns `none`: nothing is old enough; `held`: what is has more rows, or is not vacuumed; `released`
CREATE FUNCTION release_emptied_partitions(of_table text, keep_days integer) RETURNS text
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '50ms' SET enable_seqscan = off
AS $$
DECLARE
  most_staying CONSTANT integer := 2000;
  least_days integer;
  t record;
  month record;
  kept record;
  from_id text;
  began timestamptz;
  counted text;
  staying integer;
  is_held boolean := false;
  is_found boolean := false;
  leaving text[];
  partition text;
BEGIN
  IF of_table IS NULL OR of_table NOT IN ('attempts', 'receipts') THEN
    RAISE EXCEPTION 'rows of % do not leave one by one', of_table;
  END IF;
  least_days := CASE of_table WHEN 'attempts' THEN 90 ELSE 395 END;
  SELECT * INTO STRICT t FROM public.partitioned_tables() WHERE name = of_table;
  counted := format('SELECT count(*) FROM (SELECT FROM public.%1$I a WHERE a.%2$I >= $1 AND a.%2$I < $2 LIMIT $3) n', of_table, t.key);
  FOR month IN
    SELECT p.lower_id, p.upper_id FROM public.partitions_of(of_table) p
     WHERE p.upper_id <= public.bound_at(t.prefix, now() - make_interval(days => least(greatest(keep_days, least_days), 36500))) AND p.name NOT LIKE '%\_kept\_%'
     ORDER BY p.upper_id
  LOOP
    began := clock_timestamp();
    EXECUTE counted INTO staying USING month.lower_id, month.upper_id, most_staying + 1;
    is_found := staying <= most_staying AND clock_timestamp() - began < interval '250 ms';
    EXIT WHEN is_found;
    is_held := true;
  END LOOP;
  IF NOT is_found THEN
    RETURN CASE WHEN is_held THEN 'held' ELSE 'none' END;
  END IF;
  from_id := month.lower_id;
  LOOP
    SELECT p.lower_id INTO kept FROM public.partitions_of(of_table) p WHERE p.upper_id = from_id AND p.name LIKE '%\_kept\_%';
    EXIT WHEN NOT FOUND;
    EXECUTE counted INTO staying USING kept.lower_id, month.upper_id, most_staying + 1;
    EXIT WHEN staying > most_staying;
    from_id := kept.lower_id;
  END LOOP;
  SELECT array_agg(p.name ORDER BY p.upper_id) INTO leaving FROM public.partitions_of(of_table) p
   WHERE p.upper_id <= month.upper_id AND p.lower_id >= from_id;
  -- A vacuum or an index that is built gives no way in fifty milliseconds: found out now and not with the table shut.
  FOREACH partition IN ARRAY leaving LOOP
    EXECUTE format('LOCK TABLE ONLY parts.%I IN SHARE UPDATE EXCLUSIVE MODE', partition);
  END LOOP;
  PERFORM public.shut_partitioned_table(of_table, 'ACCESS EXCLUSIVE');
  -- Rows that were brought back from an archive since.
  EXECUTE counted INTO staying USING from_id, month.upper_id, most_staying + 1;
  IF staying > most_staying THEN
    RETURN 'held';
  END IF;
  FOREACH partition IN ARRAY leaving LOOP
    EXECUTE format('ALTER TABLE public.%I DETACH PARTITION parts.%I', of_table, partition);
  END LOOP;
  PERFORM public.create_partition(of_table, of_table || to_char(public.time_of_id(month.upper_id) AT TIME ZONE 'UTC', '"_kept"_YYYYMM'),
                                  format('FROM (%L) TO (%L)', from_id, month.upper_id));
  FOREACH partition IN ARRAY leaving LOOP
    -- By the index, and all there are, however an id is sorted that no program of this system made.
    PERFORM public.put_back_rows(of_table, partition, format('%I >= $1', t.key), ''::text);
    EXECUTE format('DROP TABLE parts.%I', partition);
  END LOOP;
  RETURN 'released';
END $$;

-- As relays of the release before call it.
CREATE OR REPLACE FUNCTION release_attempt_partitions(keep_days integer) RETURNS text
  LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$ SELECT public.release_emptied_partitions('attempts', keep_days) $$;

DO $$
DECLARE
  p record;
  bound text;
  oid_before oid;
BEGIN
  SELECT id, of_table INTO STRICT bound, oid_before FROM bound_before;
  FOR p IN SELECT * FROM policies_before LOOP
    EXECUTE format('DROP POLICY %I ON parts.receipts', p.name);
    EXECUTE format('CREATE POLICY %1$I ON public.receipts TO %2$s USING (%3$s) WITH CHECK (%3$s)', p.name, p.roles, p.condition);
    ALTER TABLE receipts ENABLE ROW LEVEL SECURITY;
  END LOOP;
  ALTER TABLE parts.receipts DISABLE ROW LEVEL SECURITY;
  FOR p IN SELECT * FROM readers_before LOOP
    -- By the key of the receipt: EXISTS is answered from a hash of all receipts.
    IF p.of_table = 'archived_attempts' AND p.condition LIKE '%EXISTS%' THEN
      p.condition := '(SELECT true FROM receipts WHERE receipts.id = archived_attempts.receipt_id)';
    END IF;
    EXECUTE format('ALTER POLICY %1$I ON %2$s USING (%3$s) WITH CHECK (%3$s)', p.name, p.of_table, p.condition);
  END LOOP;
  FOR p IN SELECT role, may, coalesce(' (' || quote_ident(of_column) || ')', '') AS of_column FROM rights_before LOOP
    EXECUTE format('REVOKE ALL%s ON parts.receipts FROM %s', p.of_column, p.role);
    EXECUTE format('GRANT %s%s ON public.receipts TO %s', p.may, p.of_column, p.role);
  END LOOP;
  FOR p IN SELECT text FROM triggers_before ORDER BY name LOOP
    EXECUTE p.text;
  END LOOP;
  ALTER TABLE parts.receipts RENAME TO receipts_first;
  ALTER TABLE receipts ATTACH PARTITION parts.receipts_first DEFAULT;
  PERFORM create_partition('receipts', to_char(time_of_id(bound) AT TIME ZONE 'UTC', '"receipts"_YYYYMM'),
                           format('FROM (%L) TO (%s)', bound, end_of_months('receipts')));
  LOOP
    EXIT WHEN make_next_partition('receipts') <> 'made';
  END LOOP;
  -- By the number of this table relays know a database from a copy of it that was put back, in which tables are made anew.
  UPDATE database_identity SET identity = regexp_replace(identity, format('/%s$', oid_before), format('/%s', 'receipts'::regclass::oid));
END $$;

REVOKE EXECUTE ON FUNCTION release_emptied_partitions(text, integer) FROM PUBLIC;
