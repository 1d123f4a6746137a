-- Reads the table beside its writers, so that the last migration has nothing to read. An id beyond the bound is one of a clock that was ahead,
-- before the last million events: the bound moves behind it, and until then nothing leaves. The next migration reads the table again then.
DO $$
DECLARE
  before text := (SELECT substring(pg_get_constraintdef(oid) FROM '''(evt_[0-9a-z]{10})''') FROM pg_constraint
                   WHERE conrelid = 'events'::regclass AND conname = 'events_in_first');
  newest text;
  bound text;
BEGIN
  ALTER TABLE events VALIDATE CONSTRAINT events_in_first;
EXCEPTION WHEN check_violation THEN
  newest := (SELECT max(e.id) FROM events e WHERE e.id ~ '^evt_[0-9a-hjkmnp-tv-z]{26}$');
  IF newest IS NULL OR newest < before THEN
    RAISE EXCEPTION 'an event has an id that no program of this system makes: %', (SELECT max(e.id) FROM events e)
      USING HINT = 'Give it one, or delete it, and run the migrations again. Sales go on until the bound; to have none, drop the constraint events_in_first '
        'and delete the record of migration 20261126060100 from _prisma_migrations.';
  END IF;
  bound := first_id_at('evt', (date_trunc('month', time_of_id(newest) AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC');
  RAISE WARNING 'events have ids of a clock that was ahead, up to %: until then nothing of them leaves', time_of_id(newest);
  -- A lock that is not to be had is asked for again here: the migration as a whole would read the table anew each time.
  FOR tries IN 1..400 LOOP
    BEGIN
      LOCK TABLE events IN ACCESS EXCLUSIVE MODE;
      EXIT;
    EXCEPTION WHEN lock_not_available THEN
      IF tries = 400 THEN
        RAISE;
      END IF;
      PERFORM pg_sleep(0.25);
    END;
  END LOOP;
  ALTER TABLE events DROP CONSTRAINT events_in_first;
  EXECUTE format('ALTER TABLE events ADD CONSTRAINT events_in_first CHECK (id < %L) NOT VALID', bound);
END $$;
