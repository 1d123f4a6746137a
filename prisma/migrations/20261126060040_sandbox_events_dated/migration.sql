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
