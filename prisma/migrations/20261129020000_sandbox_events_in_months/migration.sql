-- That a receipt of a sandbox was accepted was an event whose id began with `evt_test_`. Such an id stands behind those of all months, in the last partition:
-- with more than a few thousand of them no month could be made behind it (make_next_partition), and none of them ever left. Programs give them ids of
-- their time now. Those that are there, and those of programs of the release before, are given one by the keeper of the partitions, some at a time:
-- the row goes into its month, or into what was kept of it. What waits to be sent of it is named anew, too. Not beside a renumbering after a
-- restore, which changes the same rows.
-- @param positions as they were found
-- @returns how many it were
CREATE FUNCTION date_sandbox_events(positions bigint[]) RETURNS integer
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '50ms' SET enable_seqscan = off
AS $$
DECLARE
  dated integer;
BEGIN
  IF EXISTS (SELECT FROM public.event_renumberings) THEN
    RETURN 0;
  END IF;
  WITH old AS MATERIALIZED (
    SELECT e.position, e.id FROM public.events e
     WHERE e.position = ANY (positions) AND e.id >= 'evt_t' AND e.id LIKE 'evt\_test\_%' AND length(e.id) = 35
  ), dated_events AS (
    UPDATE public.events e SET id = 'evt_' || right(o.id, 26) FROM old o
     WHERE e.position = o.position AND e.id = o.id AND e.id >= 'evt_t'
    RETURNING e.position, e.subject_id, e.id, o.id AS before
  ), followed AS (
    UPDATE public.webhook_deliveries d SET event_id = n.id FROM dated_events n
     WHERE d.subject_id = n.subject_id AND d.event_position = n.position AND d.event_id = n.before
  )
  SELECT count(*) INTO dated FROM dated_events;
  RETURN dated;
END $$;
REVOKE EXECUTE ON FUNCTION date_sandbox_events(bigint[]) FROM PUBLIC;
