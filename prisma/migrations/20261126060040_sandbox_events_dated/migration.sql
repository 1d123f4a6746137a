-- That a receipt of a sandbox was accepted was an event whose id began with `evt_test_`: behind the ids of all months. The bound of the migrations behind this one
-- would refuse such events, and with them the sales, and what was there before would stop them. This one is younger than they are: where they have run, and
-- events are partitions, there is nothing to do. Programs of the release before go on writing such ids; until events are partitions they are of
-- their time by this trigger, and after that by the keeper of the partitions (sandbox_events_in_months).
DO $migration$
BEGIN
  IF (SELECT relkind FROM pg_class WHERE oid = 'events'::regclass) = 'r' THEN
    CREATE FUNCTION date_sandbox_event() RETURNS trigger
      LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    AS $$
    BEGIN
      NEW.id := 'evt_' || right(NEW.id, 26);
      RETURN NEW;
    END $$;
    CREATE TRIGGER date_sandbox_event BEFORE INSERT ON events
      FOR EACH ROW WHEN (NEW.id LIKE 'evt\_test\_%' AND length(NEW.id) = 35) EXECUTE FUNCTION date_sandbox_event();
  END IF;
END $migration$;
-- Those that were there before the trigger, with what waits to be sent of them: the migration after this one calls it, where events are partitions it does nothing.
-- Each piece is a transaction of its own, whose number readers of events wait for only while it changes rows; no index has these ids, so that the pieces are of
-- positions, with the index of the migration before this one. A planner that has read an event makes deliveries of the id that it had: its merchant's cursor is taken
-- first, or left to another try. Killed, it finds what is left.
CREATE PROCEDURE date_sandbox_events_before()
  LANGUAGE plpgsql
AS $$
DECLARE
  newest bigint;
  after_position bigint := 0;
  up_to bigint;
  found bigint[];
  merchants text[];
  dated integer;
  tries integer := 0;
  waits CONSTANT text := current_setting('lock_timeout');
BEGIN
  IF (SELECT relkind FROM pg_catalog.pg_class WHERE oid = 'public.events'::regclass) <> 'r' THEN
    RETURN;
  END IF;
  -- Each piece by its keys, also where nothing is known of the tables, as after a restore.
  PERFORM set_config('enable_seqscan', 'off', false), set_config('enable_bitmapscan', 'off', false), set_config('enable_sort', 'off', false),
          set_config('enable_hashjoin', 'off', false), set_config('enable_mergejoin', 'off', false), set_config('lock_timeout', '100ms', false);
  newest := (SELECT max(e.position) FROM public.events e);
  LOOP
    SELECT max(p.position), coalesce(array_agg(p.position) FILTER (WHERE p.id LIKE 'evt\_test\_%' AND length(p.id) = 35), '{}') INTO up_to, found
      FROM (SELECT e.position, e.id FROM public.events e WHERE e.position > after_position AND e.position <= newest ORDER BY e.position LIMIT 2000) p;
    EXIT WHEN up_to IS NULL;
    dated := 0;
    IF found <> '{}' THEN
      BEGIN
        merchants := ARRAY(SELECT DISTINCT e.merchant_id FROM public.events e WHERE e.position = ANY (found) ORDER BY e.merchant_id);
        INSERT INTO public.webhook_cursors (merchant_id, position) SELECT m.id, 0 FROM unnest(merchants) AS m(id) ON CONFLICT DO NOTHING;
        merchants := ARRAY(SELECT c.merchant_id FROM public.webhook_cursors c
                            WHERE c.merchant_id = ANY (merchants) ORDER BY c.merchant_id FOR UPDATE SKIP LOCKED);
        -- In the order in which gateways lock them.
        PERFORM FROM public.events e JOIN public.webhook_deliveries d
                  ON d.subject_id = e.subject_id AND d.event_position = e.position AND d.event_id = e.id
          WHERE e.position = ANY (found) AND e.merchant_id = ANY (merchants) ORDER BY d.id FOR NO KEY UPDATE OF d;
        UPDATE public.webhook_deliveries d SET event_id = 'evt_' || right(e.id, 26) FROM public.events e
         WHERE e.position = ANY (found) AND e.merchant_id = ANY (merchants)
           AND d.subject_id = e.subject_id AND d.event_position = e.position AND d.event_id = e.id;
        UPDATE public.events e SET id = 'evt_' || right(e.id, 26) WHERE e.position = ANY (found) AND e.merchant_id = ANY (merchants);
        GET DIAGNOSTICS dated = ROW_COUNT;
      EXCEPTION WHEN lock_not_available THEN
        dated := 0;
      END;
    END IF;
    COMMIT;
    IF dated = cardinality(found) THEN
      after_position := up_to;
      tries := 0;
    ELSE
      tries := tries + 1;
      IF tries > 400 THEN
        RAISE EXCEPTION 'events of sandboxes are held by another transaction for minutes: of merchants %', merchants;
      END IF;
      PERFORM pg_sleep(0.25);
    END IF;
  END LOOP;
  PERFORM set_config('enable_seqscan', 'on', false), set_config('enable_bitmapscan', 'on', false), set_config('enable_sort', 'on', false),
          set_config('enable_hashjoin', 'on', false), set_config('enable_mergejoin', 'on', false), set_config('lock_timeout', waits, false);
END $$;
