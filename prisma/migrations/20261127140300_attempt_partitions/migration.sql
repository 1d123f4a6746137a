-- The table of today becomes a partition of a table with its name: no row is copied, and none is read but attempts that are open. Everything is
-- one transaction, so that programs never meet a table without its policies, rights or triggers.
--
-- By the receipt, not by the attempt: what is unique of a receipt (its number, its open attempt, its registration) stays so by indexes, whatever
-- clocks say. The table of today is the DEFAULT partition: it has the attempts of receipts before the first month, and of sandboxes, whose
-- receipts stand behind all months. Its constraint `attempts_in_first` stays, so that no later partition has it read.

-- What `LIKE` would not bring.
CREATE TEMP TABLE policies_before ON COMMIT DROP AS
  SELECT p.polname AS name,
         (SELECT string_agg(quote_ident(pg_get_userbyid(r)), ', ') FROM unnest(p.polroles) AS r) AS roles
    FROM pg_policy p WHERE p.polrelid = 'attempts'::regclass;
CREATE TEMP TABLE rights_before ON COMMIT DROP AS
  SELECT a.privilege_type AS may, quote_ident(pg_get_userbyid(a.grantee)) AS role
    FROM pg_class c, aclexplode(c.relacl) AS a WHERE c.oid = 'attempts'::regclass AND a.grantee NOT IN (0, c.relowner);
-- Rights on columns alone: what an attempt became.
CREATE TEMP TABLE column_rights_before ON COMMIT DROP AS
  SELECT t.attname AS of_column, a.privilege_type AS may, quote_ident(pg_get_userbyid(a.grantee)) AS role
    FROM pg_attribute t, aclexplode(t.attacl) AS a WHERE t.attrelid = 'attempts'::regclass AND a.grantee <> 0;
CREATE TEMP TABLE bound_before ON COMMIT DROP AS
  SELECT substring(pg_get_constraintdef(oid) FROM '''(rcp_[0-9a-z]{10})''') AS id FROM pg_constraint
   WHERE conrelid = 'attempts'::regclass AND conname = 'attempts_in_first';

-- They take a row of the table, and would go on taking one of the partition.
DROP FUNCTION attempt_may_leave(attempts, timestamptz);
DROP FUNCTION attempt_line(attempts);
DROP TRIGGER attempts_move_legally ON attempts;
-- To take a month off would shut receipts as well. The statement that writes an attempt moves its receipt, which no program deletes.
ALTER TABLE attempts DROP CONSTRAINT attempts_receipt_id_fkey;
ALTER TABLE attempts DROP CONSTRAINT attempts_pkey;
ALTER TABLE attempts ADD CONSTRAINT attempts_pkey PRIMARY KEY USING INDEX attempts_receipt_id_number_key;
DROP INDEX attempts_one_open_per_device;
ALTER TABLE attempts SET SCHEMA parts;

CREATE TABLE attempts (
    "id" TEXT NOT NULL,
    "receipt_id" TEXT NOT NULL,
    "device_id" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "state" "attempt_state" NOT NULL,
    "relay_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "closed_at" TIMESTAMPTZ(3),
    "http_status" INTEGER,
    "outcome" JSONB,
    "baseline" JSONB NOT NULL,
    "request" BYTEA NOT NULL,

    CONSTRAINT "attempts_pkey" PRIMARY KEY ("receipt_id","number")
) PARTITION BY RANGE ("receipt_id");
CREATE INDEX "attempts_by_id" ON "attempts"("id");
CREATE UNIQUE INDEX "attempts_one_open_per_receipt" ON "attempts"("receipt_id") WHERE (state = 'open'::attempt_state);
CREATE UNIQUE INDEX "attempts_one_registration_per_receipt" ON "attempts"("receipt_id") WHERE (state = 'registered'::attempt_state);
CREATE INDEX "attempts_closed_by_device" ON "attempts"("device_id", "id") WHERE (state <> 'open'::attempt_state);
CREATE INDEX "attempts_unsettled" ON "attempts"("id") WHERE (state = ANY (ARRAY['open'::attempt_state, 'unknown'::attempt_state]));

-- One attempt of a device is open at a time, of whichever month its receipt is: the claim stands here as long as it is, and says where it is.
CREATE TABLE "attempt_claims" (
    "device_id" TEXT NOT NULL,
    "attempt_id" TEXT NOT NULL,
    "receipt_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "attempt_claims_pkey" PRIMARY KEY ("device_id")
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
SET LOCAL enable_seqscan = off;
INSERT INTO attempt_claims SELECT device_id, id, receipt_id, created_at FROM parts.attempts WHERE state = 'open';
SET LOCAL enable_seqscan = on;

CREATE FUNCTION claim_open_attempt() RETURNS trigger
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
AS $$
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    TRUNCATE public.attempt_claims;
    RETURN NULL;
  END IF;
  IF TG_OP <> 'INSERT' AND OLD.state = 'open' THEN
    DELETE FROM public.attempt_claims c
     WHERE c.device_id = OLD.device_id AND c.attempt_id = OLD.id AND c.receipt_id = OLD.receipt_id;
  END IF;
  IF TG_OP <> 'DELETE' AND NEW.state = 'open' THEN
    INSERT INTO public.attempt_claims (device_id, attempt_id, receipt_id, created_at)
    VALUES (NEW.device_id, NEW.id, NEW.receipt_id, NEW.created_at) ON CONFLICT (device_id) DO NOTHING;
    -- Its own claim, where the keeper of partitions has put the attempt from one into another; or one whose attempt is not open any more, which
    -- an owner may have removed past this trigger: it is taken over. Its row is locked before, so that the attempt of who did so at the same time
    -- is seen.
    IF NOT FOUND THEN
      PERFORM 1 FROM public.attempt_claims c WHERE c.device_id = NEW.device_id FOR UPDATE;
      UPDATE public.attempt_claims c SET attempt_id = NEW.id, receipt_id = NEW.receipt_id, created_at = NEW.created_at
       WHERE c.device_id = NEW.device_id
         AND NOT EXISTS (SELECT FROM public.attempts a
                          WHERE a.receipt_id = c.receipt_id AND a.id = c.attempt_id AND a.state = 'open'
                            AND (a.receipt_id, a.number) <> (NEW.receipt_id, NEW.number));
      IF NOT FOUND THEN
        RAISE EXCEPTION 'attempts_one_open_per_device: device % has an open attempt', NEW.device_id
          USING ERRCODE = 'unique_violation', TABLE = 'attempts', CONSTRAINT = 'attempts_one_open_per_device';
      END IF;
    END IF;
  END IF;
  RETURN NULL;
END $$;
-- After the row, so that what is refused or left out by the table itself claims nothing; and only where an open one is concerned.
CREATE TRIGGER attempts_claimed AFTER INSERT ON attempts
  FOR EACH ROW WHEN (NEW.state = 'open') EXECUTE FUNCTION claim_open_attempt();
CREATE TRIGGER attempts_claim_moves AFTER UPDATE OF id, receipt_id, device_id, state, created_at ON attempts
  FOR EACH ROW WHEN (OLD.state = 'open' OR NEW.state = 'open') EXECUTE FUNCTION claim_open_attempt();
CREATE TRIGGER attempts_claim_ends AFTER DELETE ON attempts
  FOR EACH ROW WHEN (OLD.state = 'open') EXECUTE FUNCTION claim_open_attempt();
CREATE TRIGGER attempts_claims_end AFTER TRUNCATE ON attempts
  FOR EACH STATEMENT EXECUTE FUNCTION claim_open_attempt();
CREATE TRIGGER attempts_move_legally BEFORE UPDATE OF state ON attempts
  FOR EACH ROW WHEN (NEW.state <> OLD.state) EXECUTE FUNCTION attempts_move_legally();

-- As before, from the claims: one look into an index that holds what is open and nothing else.
CREATE OR REPLACE FUNCTION lane_open_attempt(lane text) RETURNS text
  LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
BEGIN
  RETURN (SELECT c.attempt_id FROM attempt_claims c WHERE c.device_id = lane);
END $$;

-- The attempt itself. Within a function, so that the month is known when the statement begins: for a join all months are prepared, and left out
-- when it runs; and as a value of a longer statement the month has that planned anew each time. The plan of the function is kept. Of a claim whose
-- attempt is not open any more there is none: the next intent takes it over.
CREATE FUNCTION lane_attempt(lane text)
  RETURNS TABLE (id text, receipt_id text, baseline jsonb, request bytea, created_at timestamptz, outcome jsonb)
  LANGUAGE plpgsql STABLE ROWS 1 SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE c attempt_claims;
BEGIN
  SELECT * INTO c FROM attempt_claims o WHERE o.device_id = lane;
  IF FOUND THEN
    RETURN QUERY SELECT a.id, a.receipt_id, a.baseline, a.request, a.created_at::timestamptz, a.outcome FROM attempts a
                  WHERE a.receipt_id = c.receipt_id AND a.id = c.attempt_id AND a.state::text = 'open';
  END IF;
END $$;

-- The number of the next attempt of a receipt.
CREATE FUNCTION next_attempt_number(of_receipt text) RETURNS integer
  LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  RETURN 1 + (SELECT coalesce(max(a.number), 0) FROM attempts a WHERE a.receipt_id = of_receipt);
END $$;

-- Ends an open attempt: part of the statement of every sale (libs/ledger, attempts/close.ts). Within a function for the same reason.
-- @returns false: it is open no longer
CREATE FUNCTION close_attempt(of_receipt text, attempt text, became attempt_state, evidence jsonb) RETURNS boolean
  LANGUAGE plpgsql STRICT SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  UPDATE attempts a SET state = became, closed_at = now(), outcome = evidence
   WHERE a.receipt_id = of_receipt AND a.id = attempt AND a.state::text = 'open';
  RETURN FOUND;
END $$;

CREATE OR REPLACE FUNCTION open_attempts() RETURNS TABLE (device_id text, attempt_id text, created_at timestamptz)
  LANGUAGE plpgsql STABLE SET enable_sort = off AS $$
BEGIN
  RETURN QUERY SELECT c.device_id, c.attempt_id, c.created_at::timestamptz FROM attempt_claims c ORDER BY c.device_id;
END $$;

CREATE OR REPLACE FUNCTION open_attempts_after(after text, most integer) RETURNS TABLE (device_id text, created_at timestamptz)
  LANGUAGE plpgsql STABLE SET enable_sort = off AS $$
BEGIN
  RETURN QUERY
    SELECT c.device_id, c.created_at::timestamptz FROM attempt_claims c WHERE c.device_id > after ORDER BY c.device_id LIMIT most;
END $$;

-- Both as before.
CREATE FUNCTION attempt_line(a attempts) RETURNS text
  LANGUAGE sql STABLE
  SET "TimeZone" TO 'UTC' SET bytea_output TO 'hex' SET "DateStyle" TO 'ISO, YMD'
AS $$ SELECT to_jsonb(a)::text $$;

CREATE FUNCTION attempt_may_leave(a attempts, before timestamptz) RETURNS boolean
  LANGUAGE sql STABLE
AS $$
  SELECT a.state IN ('registered', 'rejected', 'not_registered') AND a.created_at < before AND a.closed_at < before
     AND EXISTS (SELECT FROM receipts r
                  WHERE r.id = a.receipt_id AND r.status IN ('registered', 'rejected', 'cancelled') AND r.updated_at < before
                    AND r.ofd_status IS DISTINCT FROM 'pending')
     AND NOT EXISTS (SELECT FROM receipts f
                      WHERE f.refund_of = a.receipt_id AND f.status NOT IN ('registered', 'rejected', 'cancelled'))
     AND NOT EXISTS (SELECT FROM attempts o
                      WHERE o.receipt_id = a.receipt_id AND o.state NOT IN ('registered', 'rejected', 'not_registered'))
     AND EXISTS (SELECT FROM attempts n WHERE n.device_id = a.device_id AND n.id > a.id AND n.state <> 'open')
$$;

-- As before, and attempts.
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
     NULL)
$$;

-- Where the last month of a table ends, as it is written in a bound: what stands behind it is in no month.
CREATE FUNCTION end_of_months(of_table text) RETURNS text
  LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$ SELECT CASE of_table WHEN 'attempts' THEN '''rcp_t''' ELSE 'MAXVALUE' END $$;

-- As before, of the partitions that are months; the last one has no upper id, also where something stands behind all months.
CREATE OR REPLACE FUNCTION partitions_of(of_table text) RETURNS TABLE (name text, lower_id text, upper_id text)
  LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp SET "TimeZone" TO 'UTC' SET "DateStyle" TO 'ISO, YMD'
AS $$
  SELECT c.relname::text, substring(b.bound FROM 'FROM \(''([^'']+)''\)'),
         nullif(substring(b.bound FROM 'TO \(''([^'']+)''\)'), trim(public.end_of_months(t.name), ''''))
    FROM public.partitioned_tables() t
    JOIN pg_catalog.pg_inherits i ON i.inhparent = to_regclass('public.' || quote_ident(t.name))
    JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid CROSS JOIN LATERAL (SELECT pg_get_expr(c.relpartbound, c.oid) AS bound) b
   WHERE t.name = of_table AND b.bound <> 'DEFAULT'
$$;

-- As before, and first of all the partition of what is in no month, which each change of months locks too: a vacuum of it gives no way in fifty
-- milliseconds, which is found out before the table is shut.
CREATE OR REPLACE FUNCTION shut_partitioned_table(of_table text, mode_of_other text) RETURNS void
  LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
  t record;
  in_no_month regclass;
BEGIN
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

-- As before, and what stands behind the months stays there.
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
                                  format('FROM (%L) TO (%s)', upper_id, public.end_of_months(of_table)));
  PERFORM public.put_back_rows(of_table, last_one.name,
                               format('%I >= $1%s', t.key, CASE WHEN t.prefix IS NULL THEN '::timestamptz' END), upper_id);
  EXECUTE format('ALTER TABLE public.%I ATTACH PARTITION parts.%I FOR VALUES FROM (%L) TO (%L)', of_table, last_one.name,
                 last_one.lower_id, upper_id);
  RETURN 'made';
END $$;

-- Takes off the oldest month that ended so many days ago and from which attempts have left one by one for archives, as long as no more of them
-- than two thousand are left, with what was kept of those right before it. What is left is moved into a partition that takes their place, and
-- the rest is dropped in the same transaction: it has no row. A month with more than that stays, and the next one is looked at.
-- What is left is found by its index; where that takes long, as rows that have left are not vacuumed yet, a month waits as well: it would be found
-- so again with the table shut.
-- @returns `none`: nothing is old enough; `held`: what is has more attempts, or is not vacuumed; `released`
CREATE FUNCTION release_attempt_partitions(keep_days integer) RETURNS text
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '50ms' SET enable_seqscan = off
AS $$
DECLARE
  most_staying CONSTANT integer := 2000;
  month record;
  kept record;
  from_id text;
  began timestamptz;
  counted CONSTANT text := 'SELECT count(*) FROM (SELECT FROM public.attempts a WHERE a.receipt_id >= $1 AND a.receipt_id < $2 LIMIT $3) n';
  staying integer;
  is_held boolean := false;
  is_found boolean := false;
  leaving text[];
  partition text;
BEGIN
  FOR month IN
    SELECT p.lower_id, p.upper_id FROM public.partitions_of('attempts') p
     WHERE p.upper_id <= public.bound_at('rcp', now() - make_interval(days => greatest(keep_days, 90))) AND p.name NOT LIKE '%\_kept\_%'
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
    SELECT p.lower_id INTO kept FROM public.partitions_of('attempts') p WHERE p.upper_id = from_id AND p.name LIKE '%\_kept\_%';
    EXIT WHEN NOT FOUND;
    EXECUTE counted INTO staying USING kept.lower_id, month.upper_id, most_staying + 1;
    EXIT WHEN staying > most_staying;
    from_id := kept.lower_id;
  END LOOP;
  SELECT array_agg(p.name ORDER BY p.upper_id) INTO leaving FROM public.partitions_of('attempts') p
   WHERE p.upper_id <= month.upper_id AND p.lower_id >= from_id;
  -- A vacuum or an index that is built gives no way in fifty milliseconds: found out now and not with the table shut.
  FOREACH partition IN ARRAY leaving LOOP
    EXECUTE format('LOCK TABLE ONLY parts.%I IN SHARE UPDATE EXCLUSIVE MODE', partition);
  END LOOP;
  PERFORM public.shut_partitioned_table('attempts', 'ACCESS EXCLUSIVE');
  -- Attempts that were brought back from an archive since.
  EXECUTE counted INTO staying USING from_id, month.upper_id, most_staying + 1;
  IF staying > most_staying THEN
    RETURN 'held';
  END IF;
  FOREACH partition IN ARRAY leaving LOOP
    EXECUTE format('ALTER TABLE public.attempts DETACH PARTITION parts.%I', partition);
  END LOOP;
  PERFORM public.create_partition('attempts', to_char(public.time_of_id(month.upper_id) AT TIME ZONE 'UTC', '"attempts_kept"_YYYYMM'),
                                  format('FROM (%L) TO (%L)', from_id, month.upper_id));
  FOREACH partition IN ARRAY leaving LOOP
    PERFORM public.put_back_rows('attempts', partition, 'receipt_id >= $1', from_id);
    EXECUTE format('DROP TABLE parts.%I', partition);
  END LOOP;
  RETURN 'released';
END $$;

DO $$
DECLARE
  p record;
  g record;
  bound text;
BEGIN
  SELECT id INTO STRICT bound FROM bound_before;
  FOR p IN SELECT * FROM policies_before LOOP
    EXECUTE format('DROP POLICY %I ON parts.attempts', p.name);
    -- By the key of the receipt: EXISTS is answered from a hash of all receipts, which would be made for each partition.
    EXECUTE format('CREATE POLICY %1$I ON public.attempts TO %2$s USING (%3$s) WITH CHECK (%3$s)', p.name, p.roles,
                   CASE p.name WHEN 'programs' THEN 'true' ELSE '(SELECT true FROM receipts WHERE receipts.id = attempts.receipt_id)' END);
    EXECUTE format('CREATE POLICY %1$I ON attempt_claims TO %2$s USING (%3$s) WITH CHECK (%3$s)', p.name, p.roles,
                   CASE p.name WHEN 'programs' THEN 'true' ELSE 'EXISTS (SELECT FROM devices WHERE devices.id = attempt_claims.device_id)' END);
    ALTER TABLE attempts ENABLE ROW LEVEL SECURITY;
    ALTER TABLE attempt_claims ENABLE ROW LEVEL SECURITY;
  END LOOP;
  ALTER TABLE parts.attempts DISABLE ROW LEVEL SECURITY;
  FOR g IN SELECT * FROM rights_before LOOP
    EXECUTE format('REVOKE ALL ON parts.attempts FROM %s', g.role);
    EXECUTE format('GRANT %s ON public.attempts TO %s', g.may, g.role);
    IF g.may = 'SELECT' THEN
      EXECUTE format('GRANT SELECT ON attempt_claims TO %s', g.role);
    END IF;
  END LOOP;
  FOR g IN SELECT * FROM column_rights_before LOOP
    EXECUTE format('REVOKE ALL (%I) ON parts.attempts FROM %s', g.of_column, g.role);
    EXECUTE format('GRANT %s (%I) ON public.attempts TO %s', g.may, g.of_column, g.role);
  END LOOP;
  EXECUTE format('ALTER TABLE parts.%I RENAME TO %I', 'attempts', 'attempts_first');
  ALTER TABLE attempts ATTACH PARTITION parts.attempts_first DEFAULT;
  PERFORM create_partition('attempts', to_char(time_of_id(bound) AT TIME ZONE 'UTC', '"attempts"_YYYYMM'),
                           format('FROM (%L) TO (%s)', bound, end_of_months('attempts')));
  WHILE make_next_partition('attempts') <> 'enough' LOOP
  END LOOP;
END $$;

REVOKE EXECUTE ON FUNCTION claim_open_attempt(), release_attempt_partitions(integer) FROM PUBLIC;
