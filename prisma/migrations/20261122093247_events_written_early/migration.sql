-- A transaction may write its first event only while it is young (docs/adr/0056-age-of-the-feed.md). Readers of events stop before the
-- oldest transaction in flight; an old one that has not written any is passed by them, because it cannot any more.
--
-- Once a statement is counted, those after it in the same transaction are let through at any age: the transaction holds its lock
-- on the table from then on, and whoever holds it is waited for.
CREATE FUNCTION events_written_early() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('fiscal.writes_events', true) = 'on' THEN
    RETURN NULL;
  END IF;
  IF clock_timestamp() - now() > interval '15 seconds' THEN
    RAISE EXCEPTION 'the transaction is too old to write its first event'
      USING ERRCODE = '25P04',
            HINT = 'Begin it with INSERT INTO events SELECT ... WHERE false, so that readers wait for it.';
  END IF;
  PERFORM set_config('fiscal.writes_events', 'on', true);
  RETURN NULL;
END $$;

CREATE TRIGGER events_written_early BEFORE INSERT OR UPDATE ON events
  FOR EACH STATEMENT EXECUTE FUNCTION events_written_early();
