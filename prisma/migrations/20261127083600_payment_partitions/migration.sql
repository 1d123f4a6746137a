-- The tables of today become the first partitions of tables with their names: no row is copied, and none is read but calls that are open.
-- Everything is one transaction, so that programs never meet a table without its policies or rights.

-- What `LIKE` would not bring. Read before anything moves: the text of a policy names tables as they are called then.
CREATE TEMP TABLE policies_before ON COMMIT DROP AS
  SELECT c.relname AS of_table, p.polname AS name, pg_get_expr(p.polqual, p.polrelid) AS condition,
         (SELECT string_agg(quote_ident(pg_get_userbyid(r)), ', ') FROM unnest(p.polroles) AS r) AS roles
    FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid
   WHERE c.oid IN ('payment_calls'::regclass, 'provider_callbacks'::regclass);
CREATE TEMP TABLE rights_before ON COMMIT DROP AS
  SELECT c.relname AS of_table, a.privilege_type AS may, quote_ident(pg_get_userbyid(a.grantee)) AS role
    FROM pg_class c, aclexplode(c.relacl) AS a
   WHERE c.oid IN ('payment_calls'::regclass, 'provider_callbacks'::regclass) AND a.grantee NOT IN (0, c.relowner);
CREATE TEMP TABLE bound_before ON COMMIT DROP AS
  SELECT conrelid::regclass::text AS of_table, substring(pg_get_constraintdef(oid) FROM '''([0-9][^'']+)''')::timestamptz AS ends FROM pg_constraint
   WHERE (conrelid = 'payment_calls'::regclass AND conname = 'payment_calls_in_first')
      OR (conrelid = 'provider_callbacks'::regclass AND conname = 'provider_callbacks_in_first');

ALTER TABLE payment_calls DROP CONSTRAINT payment_calls_pkey;
ALTER TABLE payment_calls ADD CONSTRAINT payment_calls_pkey PRIMARY KEY USING INDEX payment_calls_id_started_at;
ALTER TABLE provider_callbacks DROP CONSTRAINT provider_callbacks_pkey;
ALTER TABLE provider_callbacks ADD CONSTRAINT provider_callbacks_pkey PRIMARY KEY USING INDEX provider_callbacks_id_received_at;
DROP INDEX payment_calls_one_open_per_payment, provider_callbacks_reference_key;
ALTER SEQUENCE payment_calls_id_seq OWNED BY NONE;
ALTER SEQUENCE provider_callbacks_id_seq OWNED BY NONE;
ALTER TABLE payment_calls SET SCHEMA parts;
ALTER TABLE provider_callbacks SET SCHEMA parts;

CREATE TABLE payment_calls (
    "id" BIGINT NOT NULL DEFAULT nextval('payment_calls_id_seq'),
    "payment_id" TEXT NOT NULL,
    "call" TEXT NOT NULL,
    "lease_id" TEXT NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),
    "outcome" JSONB,

    CONSTRAINT "payment_calls_pkey" PRIMARY KEY ("id","started_at")
) PARTITION BY RANGE ("started_at");
CREATE INDEX "payment_calls_payment_id_id_idx" ON "payment_calls"("payment_id", "id");
CREATE INDEX "payment_calls_open" ON "payment_calls"("payment_id") WHERE (finished_at IS NULL);
ALTER SEQUENCE payment_calls_id_seq OWNED BY payment_calls.id;

CREATE TABLE provider_callbacks (
    "id" BIGINT NOT NULL DEFAULT nextval('provider_callbacks_id_seq'),
    "account_id" TEXT NOT NULL,
    "address" TEXT NOT NULL,
    "body" BYTEA,
    "answer" JSONB,
    "received_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "amount_tiyin" BIGINT,
    "body_sealed" BYTEA,
    "operation" TEXT,
    "payment_id" TEXT,
    "provider_ref" TEXT,
    "reference" TEXT,

    CONSTRAINT "provider_callbacks_pkey" PRIMARY KEY ("id","received_at")
) PARTITION BY RANGE ("received_at");
CREATE INDEX "provider_callbacks_account_id_id_idx" ON "provider_callbacks"("account_id", "id");
CREATE INDEX "provider_callbacks_by_reference" ON "provider_callbacks"("reference");
CREATE INDEX "provider_callbacks_of_payment" ON "provider_callbacks"("payment_id") WHERE (payment_id IS NOT NULL);
CREATE INDEX "provider_callbacks_in_clear" ON "provider_callbacks"("id") WHERE (body IS NOT NULL);
CREATE INDEX "provider_callbacks_kept" ON "provider_callbacks"("received_at") WHERE (body_sealed IS NOT NULL);
ALTER SEQUENCE provider_callbacks_id_seq OWNED BY provider_callbacks.id;

-- One call of a payment is open at a time, in whichever month it began: the claim stands here as long as it is. No program has a right on it.
CREATE TABLE parts.open_payment_calls (
    payment_id TEXT PRIMARY KEY,
    call_id BIGINT NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
SET LOCAL enable_seqscan = off;
INSERT INTO parts.open_payment_calls SELECT payment_id, id FROM parts.payment_calls WHERE finished_at IS NULL;
SET LOCAL enable_seqscan = on;

CREATE FUNCTION claim_open_call() RETURNS trigger
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF TG_OP <> 'INSERT' AND OLD.finished_at IS NULL THEN
    DELETE FROM parts.open_payment_calls o WHERE o.payment_id = OLD.payment_id AND o.call_id = OLD.id;
  END IF;
  IF TG_OP <> 'DELETE' AND NEW.finished_at IS NULL THEN
    INSERT INTO parts.open_payment_calls (payment_id, call_id) VALUES (NEW.payment_id, NEW.id) ON CONFLICT (payment_id) DO NOTHING;
    -- Its own claim, where the keeper of partitions has put the call from one into another; or one whose call is not open any more, which an
    -- owner may have removed past this trigger: it is taken over. Its row is locked before, so that the call of who did so at the same time is seen.
    IF NOT FOUND THEN
      PERFORM 1 FROM parts.open_payment_calls o WHERE o.payment_id = NEW.payment_id FOR UPDATE;
      UPDATE parts.open_payment_calls o SET call_id = NEW.id
       WHERE o.payment_id = NEW.payment_id
         AND NOT EXISTS (SELECT FROM public.payment_calls k
                          WHERE k.payment_id = o.payment_id AND k.id = o.call_id AND k.id <> NEW.id AND k.finished_at IS NULL);
      IF NOT FOUND THEN
        RAISE EXCEPTION 'payment % has an open call', NEW.payment_id
          USING ERRCODE = 'unique_violation', CONSTRAINT = 'payment_calls_one_open_per_payment';
      END IF;
    END IF;
  END IF;
  RETURN NULL;
END $$;
-- After the row, so that what is refused or left out by the table itself claims nothing.
CREATE TRIGGER payment_calls_one_open_per_payment AFTER INSERT OR DELETE OR UPDATE OF id, payment_id, finished_at ON payment_calls
  FOR EACH ROW EXECUTE FUNCTION claim_open_call();

-- As before, and calls: their key is a time, which has no prefix.
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
     NULL)
$$;

-- As before; a bound that is a time is said in one way, whatever the session's is: such texts sort as their times do.
CREATE OR REPLACE FUNCTION partitions_of(of_table text) RETURNS TABLE (name text, lower_id text, upper_id text)
  LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp SET "TimeZone" TO 'UTC' SET "DateStyle" TO 'ISO, YMD'
AS $$
  SELECT c.relname::text, substring(b.bound FROM 'FROM \(''([^'']+)''\)'), substring(b.bound FROM 'TO \(''([^'']+)''\)')
    FROM public.partitioned_tables() t
    JOIN pg_catalog.pg_inherits i ON i.inhparent = to_regclass('public.' || quote_ident(t.name))
    JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid CROSS JOIN LATERAL (SELECT pg_get_expr(c.relpartbound, c.oid) AS bound) b
   WHERE t.name = of_table
$$;

-- The bound of partitions at a moment: an id, or where there is no prefix the time as `partitions_of` says it.
CREATE FUNCTION bound_at(prefix text, moment timestamptz) RETURNS text
  LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT CASE WHEN prefix IS NULL THEN to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS+00')
              ELSE public.first_id_at(prefix, moment) END
$$;

-- When an id was made; of a bound that is a time, that time. Programs of the release before ask it of the bounds of all partitions.
CREATE OR REPLACE FUNCTION time_of_id(id text) RETURNS timestamptz
  LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET "TimeZone" TO 'UTC' SET "DateStyle" TO 'ISO, YMD'
AS $$
  SELECT CASE WHEN id LIKE '____-__-__ %' THEN id::timestamptz ELSE
    (SELECT to_timestamp(sum(((strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(split_part(id, '_', 2), 10 - place, 1)) - 1)::int8 << (5 * place))) / 1000.0)
       FROM generate_series(0, 9) AS place) END
$$;

-- As before, for bounds of both kinds.
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
  ends := (public.time_of_id(last_one.lower_id) AT TIME ZONE 'UTC' + interval '1 month') AT TIME ZONE 'UTC';
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
                                  format('FROM (%L) TO (MAXVALUE)', upper_id));
  PERFORM public.put_back_rows(of_table, last_one.name,
                               format('%I >= $1%s', t.key, CASE WHEN t.prefix IS NULL THEN '::timestamptz' END), upper_id);
  EXECUTE format('ALTER TABLE public.%I ATTACH PARTITION parts.%I FOR VALUES FROM (%L) TO (%L)', of_table, last_one.name,
                 last_one.lower_id, upper_id);
  RETURN 'made';
END $$;

-- Payments that were made before a time and that a worker or a person has still to settle. Merchant by merchant, as the indexes of these few begin with
-- it: of a million that are under way now none is read. By id, with a day of margin, as clocks of programs are not the database's; those of a
-- sandbox have a prefix of their own.
CREATE FUNCTION unfinished_payments(below timestamptz) RETURNS TABLE (id text)
  LANGUAGE plpgsql STABLE SET search_path = pg_catalog, public, pg_temp SET enable_seqscan = off
AS $$
DECLARE
  below_live text := public.first_id_at('pay', below + interval '1 day');
  below_test text := public.first_id_at('pay_test', below + interval '1 day');
BEGIN
  RETURN QUERY
    SELECT u.id FROM public.merchants m CROSS JOIN LATERAL (
      SELECT p.id FROM public.payments p
       WHERE p.merchant_id = m.id AND p.id < CASE WHEN m.id LIKE 'mer\_test\_%' THEN below_test ELSE below_live END AND (p.due_at IS NOT NULL OR p.awaits_operator OR p.discrepancy IS NOT NULL) OFFSET 0) u
    UNION
    SELECT u.id FROM public.merchants m CROSS JOIN LATERAL (
      SELECT p.id FROM public.payments p
       WHERE p.merchant_id = m.id AND p.id < CASE WHEN m.id LIKE 'mer\_test\_%' THEN below_test ELSE below_live END
         AND p.state IN ('created', 'pending', 'reserved', 'authorizing', 'authorize_unknown', 'authorized', 'capturing', 'capture_unknown',
             'capture_refused', 'voiding', 'void_unknown', 'refunding', 'refund_unknown', 'manual') OFFSET 0) u;
END $$;

-- Calls from one time to another that may not leave: those that are open, and of an unfinished payment the newest twenty of each kind, by which it
-- is decided how it goes on; one that waits for a person may have thousands. Read before the table is shut: no call of a time that is long over is
-- opened any more, and a payment that is taken up again meanwhile goes on by what it is itself.
CREATE FUNCTION staying_payment_calls(from_time timestamptz, below timestamptz, at_most integer) RETURNS bigint[]
  LANGUAGE plpgsql STABLE SET search_path = pg_catalog, public, pg_temp SET enable_seqscan = off
AS $$
DECLARE ids bigint[];
BEGIN
  SELECT array_agg(s.id) INTO ids FROM (
    SELECT c.id FROM public.unfinished_payments(below) u
     CROSS JOIN LATERAL (SELECT k.id, row_number() OVER (PARTITION BY k.call ORDER BY k.id DESC) AS place FROM public.payment_calls k
                          WHERE k.payment_id = u.id AND k.started_at >= from_time AND k.started_at < below OFFSET 0) c
     WHERE c.place <= 20
    UNION
    SELECT k.id FROM public.payment_calls k WHERE k.finished_at IS NULL AND k.started_at >= from_time AND k.started_at < below
    LIMIT at_most) s;
  RETURN coalesce(ids, '{}');
END $$;

-- Takes the oldest month of calls off that ended so many days ago and may leave, with what was kept of those right before it as long as all that
-- stays is no more than two thousand; a month of which more may not leave stays as it is, and the next one is taken. A call that a dead worker
-- left open is closed as lost where its payment has been settled otherwise: nobody else will. A month of calls to us stays as a whole while one of
-- them has its sealed text: that is cleared first.
-- @returns `none`: nothing is old enough; `held`: what is may not leave; `released`
CREATE FUNCTION release_payment_partitions(of_table text, keep_days integer) RETURNS text
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '50ms' SET enable_seqscan = off
AS $$
DECLARE
  most_staying CONSTANT integer := 2000;
  month record;
  kept record;
  lower_bound text;
  ends timestamptz;
  staying bigint[] := '{}';
  of_both bigint[];
  is_held boolean := false;
  may_leave boolean := false;
  leaving text[];
  partition text;
BEGIN
  IF of_table NOT IN ('payment_calls', 'provider_callbacks') THEN
    RAISE EXCEPTION '% is no table of calls', of_table;
  END IF;
  FOR month IN
    SELECT p.lower_id, p.upper_id FROM public.partitions_of(of_table) p
     WHERE p.upper_id <= public.bound_at(NULL, now() - make_interval(days => greatest(keep_days, 30))) AND p.name NOT LIKE '%\_kept\_%'
     ORDER BY p.upper_id
  LOOP
    ends := month.upper_id::timestamptz;
    IF of_table = 'payment_calls' THEN
      UPDATE public.payment_calls k SET finished_at = now(), outcome = '{"kind":"unknown","detail":"lost: its caller died"}'
       WHERE k.finished_at IS NULL AND k.started_at < ends
         AND NOT EXISTS (SELECT FROM public.unfinished_payments(ends) u WHERE u.id = k.payment_id);
      staying := public.staying_payment_calls(coalesce(month.lower_id, '-infinity')::timestamptz, ends, most_staying + 1);
      may_leave := cardinality(staying) <= most_staying;
    ELSE
      may_leave := NOT EXISTS (SELECT FROM public.provider_callbacks WHERE body_sealed IS NOT NULL
                                 AND received_at >= coalesce(month.lower_id, '-infinity')::timestamptz AND received_at < ends)
              AND NOT EXISTS (SELECT FROM public.provider_callbacks WHERE body IS NOT NULL
                                 AND received_at >= coalesce(month.lower_id, '-infinity')::timestamptz AND received_at < ends);
    END IF;
    EXIT WHEN may_leave;
    is_held := true;
  END LOOP;
  IF NOT may_leave THEN
    RETURN CASE WHEN is_held THEN 'held' ELSE 'none' END;
  END IF;
  lower_bound := month.lower_id;
  LOOP
    SELECT p.lower_id INTO kept FROM public.partitions_of(of_table) p WHERE p.upper_id = lower_bound AND p.name LIKE '%\_kept\_%';
    EXIT WHEN NOT FOUND;
    IF of_table = 'payment_calls' THEN
      of_both := public.staying_payment_calls(coalesce(kept.lower_id, '-infinity')::timestamptz, ends, most_staying + 1);
      EXIT WHEN cardinality(of_both) > most_staying;
      staying := of_both;
    END IF;
    lower_bound := kept.lower_id;
  END LOOP;
  SELECT array_agg(p.name ORDER BY p.upper_id) INTO leaving FROM public.partitions_of(of_table) p
   WHERE p.upper_id <= month.upper_id AND (lower_bound IS NULL OR p.lower_id >= lower_bound);
  -- A vacuum or an index that is built gives no way in fifty milliseconds: found out now and not with the table shut.
  FOREACH partition IN ARRAY leaving LOOP
    EXECUTE format('LOCK TABLE ONLY parts.%I IN SHARE UPDATE EXCLUSIVE MODE', partition);
  END LOOP;
  PERFORM public.shut_partitioned_table(of_table, 'ACCESS EXCLUSIVE');
  FOREACH partition IN ARRAY leaving LOOP
    EXECUTE format('ALTER TABLE public.%I DETACH PARTITION parts.%I', of_table, partition);
    INSERT INTO public.released_partitions (name, of_table) VALUES (partition, of_table);
  END LOOP;
  PERFORM public.create_partition(of_table, of_table || to_char(ends AT TIME ZONE 'UTC', '_"kept"_YYYYMM'),
                                  format('FROM (%s) TO (%L)', coalesce(quote_literal(lower_bound), 'MINVALUE'), month.upper_id));
  FOREACH partition IN ARRAY leaving LOOP
    PERFORM public.put_back_rows(of_table, partition, 'id = ANY ($1)', staying);
  END LOOP;
  RETURN 'released';
END $$;

-- As before, and calls.
CREATE OR REPLACE FUNCTION archive_key_of(of_table text) RETURNS text
  LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT CASE of_table WHEN 'webhook_attempts' THEN 'delivery_id || '':'' || lpad(number::text, 6, ''0'')'
                       WHEN 'events' THEN 'lpad(position::text, 19, ''0'')'
                       WHEN 'payment_calls' THEN 'lpad(id::text, 19, ''0'')'
                       WHEN 'provider_callbacks' THEN 'lpad(id::text, 19, ''0'')'
                       ELSE 'id' END
$$;

-- As before, and calls, in the order of their numbers as events are.
CREATE OR REPLACE FUNCTION read_released_partition(of_partition text, after text, at_most integer) RETURNS TABLE (id text, line text)
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
  ELSIF r.of_table IN ('events', 'payment_calls', 'provider_callbacks') THEN
    RETURN QUERY EXECUTE format('SELECT lpad(%1$I::text, 19, ''0''), to_jsonb(e)::text FROM parts.%2$I e
      WHERE e.%1$I > $1 ORDER BY e.%1$I LIMIT $2', CASE r.of_table WHEN 'events' THEN 'position' ELSE 'id' END, r.name)
      USING coalesce(nullif(after, ''), '0')::bigint, at_most;
  ELSE
    RETURN QUERY EXECUTE format('SELECT d.id, to_jsonb(d)::text FROM parts.%I d WHERE d.id > $1 ORDER BY d.id LIMIT $2', r.name)
      USING after, at_most;
  END IF;
END $$;

-- As before. Calls of payments, which say what became of money, are dropped only with an archive, as events are.
CREATE OR REPLACE FUNCTION drop_released_partition(of_partition text, is_archived boolean) RETURNS boolean
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
        FROM parts.%2$I', public.archive_key_of(r.of_table), r.name)
      INTO is_whole USING r.name;
  ELSE
    is_whole := r.of_table LIKE 'webhook\_%' AND NOT EXISTS (SELECT FROM public.archives a WHERE a.released IS NOT NULL AND a.state <> 'abandoned');
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
  FOR t IN SELECT * FROM partitioned_tables() WHERE name IN ('payment_calls', 'provider_callbacks') LOOP
    SELECT bound_at(NULL, b.ends) INTO STRICT bound FROM bound_before b WHERE b.of_table = t.name;
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

REVOKE EXECUTE ON FUNCTION claim_open_call(), unfinished_payments(timestamptz), staying_payment_calls(timestamptz, timestamptz, integer), release_payment_partitions(text, integer)
  FROM PUBLIC;
