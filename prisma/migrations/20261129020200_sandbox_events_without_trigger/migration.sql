-- Events are partitions by now: the trigger stands on the first one alone, in which no such id comes to stand any more. What filled those before goes with it.
-- contract: 20261126060040_sandbox_events_dated
DO $$
BEGIN
  IF to_regclass('parts.events_first') IS NOT NULL THEN
    DROP TRIGGER IF EXISTS date_sandbox_event ON parts.events_first;
  END IF;
END $$;
DROP FUNCTION IF EXISTS date_sandbox_event();
DROP PROCEDURE IF EXISTS date_sandbox_events_before();
