-- Events become partitions by month (docs/adr/0192-events-in-partitions.md): the index before this one, and three migrations that belong
-- together. The first says up to which id the table of today will be the first partition: to the end of a month that is at least three weeks
-- away, as until the third no row beyond it may be written, and beyond the ids of the last million events. Where a clock was ahead before
-- these, the second refuses the bound.
DO $$
DECLARE
  newest text := (SELECT max(n.id) FROM (SELECT id FROM events ORDER BY position DESC LIMIT 1000000) n WHERE n.id ~ '^evt_[0-9a-hjkmnp-tv-z]{26}$');
  ends timestamp := date_trunc('month', greatest(now() AT TIME ZONE 'UTC' + interval '21 days', time_of_id(newest) AT TIME ZONE 'UTC')
                                        + interval '1 month');
  bound text := first_id_at('evt', ends AT TIME ZONE 'UTC');
BEGIN
  IF time_of_id(newest) > now() + interval '1 day' THEN
    RAISE WARNING 'events have ids of a clock that was ahead, up to %: until then nothing of them leaves', time_of_id(newest);
  END IF;
  EXECUTE format('ALTER TABLE events ADD CONSTRAINT events_in_first CHECK (id < %L) NOT VALID', bound);
END $$;
