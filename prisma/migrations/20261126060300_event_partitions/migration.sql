-- The table of today becomes the first partition of a table with its name: no row is copied and none is read. Everything is one transaction,
-- so that programs never meet a table without its policies, rights or trigger.

-- What `LIKE` would not bring. Read before anything moves: the text of a policy names tables as they are called then.
CREATE TEMP TABLE policies_before ON COMMIT DROP AS
  SELECT p.polname AS name, pg_get_expr(p.polqual, p.polrelid) AS condition,
         (SELECT string_agg(quote_ident(pg_get_userbyid(r)), ', ') FROM unnest(p.polroles) AS r) AS roles
    FROM pg_policy p WHERE p.polrelid = 'events'::regclass;
CREATE TEMP TABLE rights_before ON COMMIT DROP AS
  SELECT a.privilege_type AS may, quote_ident(pg_get_userbyid(a.grantee)) AS role
    FROM pg_class c, aclexplode(c.relacl) AS a WHERE c.oid = 'events'::regclass AND a.grantee NOT IN (0, c.relowner);
-- Rights on a column alone: `transaction_id`, of a copy that was put back.
CREATE TEMP TABLE column_rights_before ON COMMIT DROP AS
  SELECT t.attname AS of_column, a.privilege_type AS may, quote_ident(pg_get_userbyid(a.grantee)) AS role
    FROM pg_attribute t, aclexplode(t.attacl) AS a WHERE t.attrelid = 'events'::regclass AND a.grantee <> 0;
CREATE TEMP TABLE bound_before ON COMMIT DROP AS
  SELECT substring(pg_get_constraintdef(oid) FROM '''(evt_[0-9a-z]{10})''') AS id FROM pg_constraint
   WHERE conrelid = 'events'::regclass AND conname = 'events_in_first';

DROP TRIGGER events_written_early ON events;
ALTER TABLE events DROP CONSTRAINT events_pkey;
ALTER TABLE events ADD CONSTRAINT events_pkey PRIMARY KEY USING INDEX events_position_id;
ALTER SEQUENCE events_position_seq OWNED BY NONE;
ALTER TABLE events SET SCHEMA parts;

CREATE TABLE events (
    "position" BIGINT NOT NULL DEFAULT nextval('events_position_seq'),
    "transaction_id" xid8 NOT NULL DEFAULT pg_current_xact_id(),
    "id" TEXT NOT NULL,
    "merchant_id" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "subject_id" TEXT NOT NULL,
    "data" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "events_pkey" PRIMARY KEY ("position","id")
) PARTITION BY RANGE ("id");
CREATE INDEX "events_in_order" ON "events"("merchant_id", "transaction_id", "position");
CREATE INDEX "events_of_subject" ON "events"("subject_id", "transaction_id", "position");
ALTER SEQUENCE events_position_seq OWNED BY events.position;
-- Of the table and not of its partitions: one that stands on a partition does not fire for what is written through the table.
CREATE TRIGGER events_written_early BEFORE INSERT OR UPDATE ON events
  FOR EACH STATEMENT EXECUTE FUNCTION events_written_early();

-- As before, and events.
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
     NULL)
$$;

-- By what the rows of a table are read in their order, as a text: in archives, and to count what they hold.
CREATE FUNCTION archive_key_of(of_table text) RETURNS text
  LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT CASE of_table WHEN 'webhook_attempts' THEN 'delivery_id || '':'' || lpad(number::text, 6, ''0'')'
                       WHEN 'events' THEN 'lpad(position::text, 19, ''0'')'
                       ELSE 'id' END
$$;

-- Held, shared, by a transaction that makes deliveries of events which it chooses among old ones, and alone by what takes a month of events
-- off: what was chosen is there when it is to be sent.
-- @returns false: a month is being taken off
CREATE FUNCTION may_choose_events() RETURNS boolean
  LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
AS $$
  SELECT pg_try_advisory_xact_lock_shared(16722, 4)
$$;

-- The first position that was written at a moment, by halves: times have no index, positions grow with them.
CREATE FUNCTION event_position_at(moment timestamptz) RETURNS bigint
  LANGUAGE plpgsql STABLE SET search_path = pg_catalog, public, pg_temp SET enable_seqscan = off
AS $$
DECLARE
  low bigint := 0;
  high bigint := coalesce((SELECT e.position FROM public.events e ORDER BY e.position DESC LIMIT 1), 0) + 1;
  middle bigint;
BEGIN
  WHILE low < high LOOP
    middle := (low + high) / 2;
    IF (SELECT e.created_at FROM public.events e WHERE e.position >= middle ORDER BY e.position LIMIT 1) < moment THEN
      low := middle + 1;
    ELSE
      high := middle;
    END IF;
  END LOOP;
  RETURN low;
END $$;

-- Of the ids from one to another the first event of each merchant that is needed still: all of its feed from there on stays, so that no
-- reader who stands at an event that is there misses one behind it. Needed are its last of these, at which a reader stands who is not
-- behind by more than what is kept, however long nothing has happened; what stands behind its first one of a later month, as ids and the feed
-- are not in the same order (long transactions, a clock that is ahead); the one at which the planner of deliveries stands (all, where it has
-- not begun); what a delivery is waiting to send, or was given up and may be asked for again; and, from `late` on, what was written by a
-- program whose clock was behind.
CREATE FUNCTION first_needed_events(from_id text, below text, late bigint)
  RETURNS TABLE (of_merchant text, at_transaction xid8, at_position bigint)
  LANGUAGE plpgsql STABLE SET search_path = pg_catalog, public, pg_temp SET enable_seqscan = off
AS $$
BEGIN
  RETURN QUERY
    SELECT DISTINCT ON (n.merchant_id) n.merchant_id, n.transaction_id, n.position FROM (
      SELECT m.id AS merchant_id, l.transaction_id, l.position FROM public.merchants m CROSS JOIN LATERAL (
               SELECT e.transaction_id, e.position FROM public.events e
                WHERE e.merchant_id = m.id AND e.id >= from_id AND e.id < below
                ORDER BY e.transaction_id DESC, e.position DESC LIMIT 1) l
      UNION ALL
      SELECT m.id, l.transaction_id, l.position FROM public.merchants m CROSS JOIN LATERAL (
               SELECT e.transaction_id, e.position FROM public.events e
                WHERE e.merchant_id = m.id AND e.id >= below
                ORDER BY e.transaction_id, e.position LIMIT 1) l
      UNION ALL
      SELECT c.merchant_id, e.transaction_id, e.position FROM public.webhook_cursors c JOIN public.events e ON e.position = c.position
       WHERE e.id >= from_id AND e.id < below
      UNION ALL
      SELECT m.id, '0'::xid8, 0 FROM public.merchants m
       WHERE NOT EXISTS (SELECT FROM public.webhook_cursors c WHERE c.merchant_id = m.id AND c.position > 0)
      UNION ALL
      SELECT e.merchant_id, e.transaction_id, e.position
        FROM (SELECT d.endpoint_id, d.event_position, d.event_id FROM public.webhook_deliveries d
               WHERE d.state = 'pending' AND d.event_id >= from_id AND d.event_id < below
              UNION ALL
              SELECT d.endpoint_id, d.event_position, d.event_id FROM public.webhook_deliveries d
               WHERE d.state = 'failed' AND d.event_id >= from_id AND d.event_id < below) d
       CROSS JOIN LATERAL (SELECT * FROM public.events WHERE position = d.event_position AND id = d.event_id LIMIT 1) e
       WHERE NOT EXISTS (SELECT FROM public.webhook_endpoints w WHERE w.id = d.endpoint_id AND w.deleted_at IS NOT NULL)
      UNION ALL
      SELECT e.merchant_id, e.transaction_id, e.position FROM public.events e WHERE e.position >= late AND e.id >= from_id AND e.id < below
    ) n ORDER BY n.merchant_id, n.transaction_id, n.position;
END $$;

-- Whether transactions are being numbered anew, after a copy was put back, or rows of an archive stand in the table for their thirty days.
CREATE FUNCTION no_event_may_leave() RETURNS boolean
  LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp
AS $$
  SELECT EXISTS (SELECT FROM public.event_renumberings)
      OR EXISTS (SELECT FROM public.archives WHERE state = 'restored' AND released IS NOT NULL AND restored_at > now() - interval '30 days')
$$;

-- Takes the oldest month of events off that ended so many days ago, with what was kept of those before it. What stays of it is copied into the
-- partition that takes its place; then the table is shut for as long as its catalogue entries change, however many rows stay. What is needed
-- is found before the transaction has a number: readers of events wait for one that has. The file of a month holds all of it.
-- @returns `none`: nothing is old enough; or a copy was put back, or rows of an archive, and nothing leaves meanwhile; `released`
CREATE FUNCTION release_event_partitions(keep_days integer) RETURNS text
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '50ms' SET enable_seqscan = off
AS $$
DECLARE
  month record;
  kept record;
  from_id text;
  lower_bound text;
  leaving text[];
  stays text;
  columns text;
  partition text;
  identified timestamptz := (SELECT changed_at FROM public.database_identity LIMIT 1);
  late bigint;
  copied_below xid8;
  merchants text[];
  transactions xid8[];
  positions bigint[];
BEGIN
  SELECT p.lower_id, p.upper_id INTO month FROM public.partitions_of('events') p
   WHERE p.upper_id <= public.first_id_at('evt', now() - make_interval(days => greatest(keep_days, 30))) AND p.name NOT LIKE '%\_kept\_%'
   ORDER BY p.upper_id LIMIT 1;
  -- Asked once more with the table shut; before, so that nothing is copied in vain, and as a renumbering that was planned before ends
  -- beside the copy: what is planned later changes the identity of the database in the same transaction.
  IF NOT FOUND OR public.no_event_may_leave() THEN
    RETURN 'none';
  END IF;
  lower_bound := month.lower_id;
  LOOP
    SELECT p.lower_id INTO kept FROM public.partitions_of('events') p WHERE p.upper_id = lower_bound AND p.name LIKE '%\_kept\_%';
    EXIT WHEN NOT FOUND;
    lower_bound := kept.lower_id;
  END LOOP;
  from_id := coalesce(lower_bound, '');
  SELECT array_agg(p.name ORDER BY p.upper_id) INTO leaving FROM public.partitions_of('events') p
   WHERE p.upper_id <= month.upper_id AND (lower_bound IS NULL OR p.lower_id >= lower_bound);
  -- Who chooses old events for new deliveries has ended, or is refused until this has: waited for as long as a request may take, as no other
  -- program waits for this lock. A vacuum or an index that is built gives no way in fifty milliseconds: found out now and not with the table shut.
  PERFORM set_config('lock_timeout', '12s', true);
  PERFORM pg_advisory_xact_lock(16722, 4);
  PERFORM set_config('lock_timeout', '50ms', true);
  FOREACH partition IN ARRAY leaving LOOP
    EXECUTE format('LOCK TABLE ONLY parts.%I IN SHARE UPDATE EXCLUSIVE MODE', partition);
  END LOOP;
  -- What was written after the month was over, and a minute before.
  late := public.event_position_at(public.time_of_id(month.upper_id) - interval '1 minute');
  -- Whatever is not seen from here on is written by one of these, or a later one.
  copied_below := pg_snapshot_xmin(pg_current_snapshot());
  SELECT array_agg(n.of_merchant), array_agg(n.at_transaction), array_agg(n.at_position) INTO merchants, transactions, positions
    FROM public.first_needed_events(from_id, month.upper_id, late) n;

  stays := 'events' || to_char(public.time_of_id(month.upper_id) AT TIME ZONE 'UTC', '_"kept"_YYYYMM');
  SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) INTO columns FROM pg_catalog.pg_attribute
   WHERE attrelid = 'public.events'::regclass AND attnum > 0 AND NOT attisdropped;
  EXECUTE format('CREATE TABLE parts.%I (LIKE public.events INCLUDING DEFAULTS INCLUDING INDEXES, CONSTRAINT bounds CHECK (id >= %L AND id < %L)) WITH (%s)',
                 stays, from_id, month.upper_id, (SELECT t.settings FROM public.partitioned_tables() t WHERE t.name = 'events'));
  EXECUTE format('INSERT INTO parts.%1$I (%2$s)
                  SELECT %2$s FROM unnest($3, $4, $5) AS f(of_merchant, at_transaction, at_position)
                   CROSS JOIN LATERAL (SELECT * FROM public.events e WHERE e.merchant_id = f.of_merchant AND e.id >= $1 AND e.id < $2
                                          AND (e.transaction_id, e.position) >= (f.at_transaction, f.at_position)) e', stays, columns)
    USING from_id, month.upper_id, merchants, transactions, positions;

  FOR tries IN 1..20 LOOP
    BEGIN
      IF tries > 10 THEN
        PERFORM set_config('lock_timeout', '150ms', true);
      END IF;
      LOCK TABLE public.event_renumberings IN SHARE MODE;
      PERFORM public.shut_partitioned_table('events', 'ACCESS EXCLUSIVE');
      FOREACH partition IN ARRAY leaving LOOP
        EXECUTE format('LOCK TABLE ONLY parts.%I IN ACCESS EXCLUSIVE MODE', partition);
      END LOOP;
      EXIT;
    EXCEPTION WHEN lock_not_available THEN
      IF tries = 20 THEN
        RAISE;
      END IF;
      PERFORM pg_sleep(0.2);
    END;
  END LOOP;
  IF public.no_event_may_leave() OR identified IS DISTINCT FROM (SELECT changed_at FROM public.database_identity LIMIT 1) THEN
    EXECUTE format('DROP TABLE parts.%I', stays);
    RETURN 'none';
  END IF;
  -- Committed since what stays was copied, by a program whose clock is behind.
  EXECUTE format('INSERT INTO parts.%1$I (%2$s) SELECT %2$s FROM public.events
                   WHERE position >= $1 AND id >= $2 AND id < $3 AND transaction_id >= $4
                  ON CONFLICT DO NOTHING', stays, columns) USING late, from_id, month.upper_id, copied_below;
  FOREACH partition IN ARRAY leaving LOOP
    EXECUTE format('ALTER TABLE public.events DETACH PARTITION parts.%I', partition);
    INSERT INTO public.released_partitions (name, of_table) VALUES (partition, 'events');
  END LOOP;
  EXECUTE format('ALTER TABLE public.events ATTACH PARTITION parts.%I FOR VALUES FROM (%s) TO (%L)', stays,
                 coalesce(quote_literal(lower_bound), 'MINVALUE'), month.upper_id);
  EXECUTE format('ALTER TABLE parts.%I DROP CONSTRAINT bounds', stays);
  RETURN 'released';
END $$;

-- As before, and events: in the order of their positions.
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
  ELSIF r.of_table = 'events' THEN
    RETURN QUERY EXECUTE format('SELECT lpad(position::text, 19, ''0''), to_jsonb(e)::text FROM parts.%I e
      WHERE position > $1 ORDER BY position LIMIT $2', r.name)
      USING coalesce(nullif(after, ''), '0')::bigint, at_most;
  ELSE
    RETURN QUERY EXECUTE format('SELECT d.id, to_jsonb(d)::text FROM parts.%I d WHERE d.id > $1 ORDER BY d.id LIMIT $2', r.name)
      USING after, at_most;
  END IF;
END $$;

-- As before, by the key of each table. Events, which are the history of receipts, are dropped only with an archive.
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
    is_whole := r.of_table <> 'events' AND NOT EXISTS (SELECT FROM public.archives a WHERE a.released IS NOT NULL AND a.state <> 'abandoned');
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
  p record;
  g record;
  bound text;
BEGIN
  SELECT id INTO STRICT bound FROM bound_before;
  FOR p IN SELECT * FROM policies_before LOOP
    EXECUTE format('DROP POLICY %I ON parts.events', p.name);
    EXECUTE format('CREATE POLICY %1$I ON public.events TO %2$s USING (%3$s) WITH CHECK (%3$s)', p.name, p.roles, p.condition);
    ALTER TABLE public.events ENABLE ROW LEVEL SECURITY;
  END LOOP;
  ALTER TABLE parts.events DISABLE ROW LEVEL SECURITY;
  FOR g IN SELECT * FROM rights_before LOOP
    EXECUTE format('REVOKE ALL ON parts.events FROM %s', g.role);
    EXECUTE format('GRANT %s ON public.events TO %s', g.may, g.role);
  END LOOP;
  FOR g IN SELECT * FROM column_rights_before LOOP
    EXECUTE format('REVOKE ALL (%I) ON parts.events FROM %s', g.of_column, g.role);
    EXECUTE format('GRANT %s (%I) ON public.events TO %s', g.may, g.of_column, g.role);
  END LOOP;
  ALTER TABLE parts.events RENAME TO events_first;
  EXECUTE format('ALTER TABLE public.events ATTACH PARTITION parts.events_first FOR VALUES FROM (MINVALUE) TO (%L)', bound);
  ALTER TABLE parts.events_first DROP CONSTRAINT events_in_first;
  PERFORM create_partition('events', 'events' || to_char(time_of_id(bound) AT TIME ZONE 'UTC', '_YYYYMM'), format('FROM (%L) TO (MAXVALUE)', bound));
  WHILE make_next_partition('events') <> 'enough' LOOP
  END LOOP;
END $$;

REVOKE EXECUTE ON FUNCTION first_needed_events(text, text, bigint), release_event_partitions(integer) FROM PUBLIC;
