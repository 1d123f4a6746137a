-- Reads the table beside its writers, so that the last migration has nothing to read. A time beyond the bound is one of a database whose clock
-- was ahead: the bound moves behind it, and nothing leaves until the month of that time is over. The next migration reads the table again then.
DO $$
DECLARE
  newest timestamptz;
BEGIN
  ALTER TABLE provider_callbacks VALIDATE CONSTRAINT provider_callbacks_in_first;
EXCEPTION WHEN check_violation THEN
  newest := (SELECT max(received_at) FROM provider_callbacks);
  RAISE WARNING 'provider_callbacks has times of a clock that was ahead, up to %: until then nothing of them leaves', newest;
  -- A lock that is not to be had is asked for again here: the migration as a whole would read the table anew each time.
  FOR tries IN 1..400 LOOP
    BEGIN
      LOCK TABLE provider_callbacks IN ACCESS EXCLUSIVE MODE;
      EXIT;
    EXCEPTION WHEN lock_not_available THEN
      IF tries = 400 THEN
        RAISE;
      END IF;
      PERFORM pg_sleep(0.25);
    END;
  END LOOP;
  ALTER TABLE provider_callbacks DROP CONSTRAINT provider_callbacks_in_first;
  EXECUTE format('ALTER TABLE provider_callbacks ADD CONSTRAINT provider_callbacks_in_first CHECK (received_at < %L) NOT VALID',
                 to_char(date_trunc('month', newest AT TIME ZONE 'UTC' + interval '1 month'), 'YYYY-MM-DD HH24:MI:SS+00'));
END $$;
