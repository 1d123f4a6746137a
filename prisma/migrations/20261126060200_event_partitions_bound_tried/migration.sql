-- Reads the table beside its writers, so that the last migration has nothing to read. An id beyond the bound is one of a clock that was ahead,
-- before the last million events: the bound moves behind it, and until then nothing leaves. The next migration reads the table again then.
DO $$
DECLARE
  newest text;
  bound text;
BEGIN
  ALTER TABLE events VALIDATE CONSTRAINT events_in_first;
EXCEPTION WHEN check_violation THEN
  newest := (SELECT max(e.id) FROM events e WHERE e.id ~ '^evt_[0-9a-hjkmnp-tv-z]{26}$');
  bound := first_id_at('evt', (date_trunc('month', time_of_id(newest) AT TIME ZONE 'UTC') + interval '1 month') AT TIME ZONE 'UTC');
  RAISE WARNING 'events have ids of a clock that was ahead, up to %: until then nothing of them leaves', time_of_id(newest);
  ALTER TABLE events DROP CONSTRAINT events_in_first;
  EXECUTE format('ALTER TABLE events ADD CONSTRAINT events_in_first CHECK (id < %L) NOT VALID', bound);
END $$;
