-- That a receipt of a sandbox was accepted was an event whose id began with `evt_test_`. Such an id stands behind those of all months, in the last partition:
-- with more than a few thousand of them no month could be made behind it (make_next_partition), and none of them ever left. Programs give them ids of
-- their time now. Those that are there, and those of programs of the release before, are given one by the keeper of the partitions, some at a time:
-- the row goes into its month, or into what was kept of it. What waits to be sent of it is named anew, too. Not beside a renumbering after a
-- restore, which changes the same rows, and not beside a gateway that makes deliveries of what it has read: they would be of ids that no event has.
-- Events of a merchant whose planner is at work are left to the next call; who chooses old events has ended, or is refused until this has.
-- @param positions as they were found
-- @returns how many it were
CREATE FUNCTION date_sandbox_events(positions bigint[]) RETURNS integer
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '50ms' SET enable_seqscan = off
AS $$
DECLARE
  dated integer;
  merchants text[];
BEGIN
  IF EXISTS (SELECT FROM public.event_renumberings) THEN
    RETURN 0;
  END IF;
  -- As release_event_partitions does.
  PERFORM set_config('lock_timeout', '12s', true);
  PERFORM pg_advisory_xact_lock(16722, 4);
  PERFORM set_config('lock_timeout', '50ms', true);
  merchants := ARRAY(SELECT DISTINCT e.merchant_id FROM public.events e
                      WHERE e.position = ANY (positions) AND e.id >= 'evt_t' ORDER BY e.merchant_id);
  INSERT INTO public.webhook_cursors (merchant_id, position) SELECT m.id, 0 FROM unnest(merchants) AS m(id) ON CONFLICT DO NOTHING;
  merchants := ARRAY(SELECT c.merchant_id FROM public.webhook_cursors c
                      WHERE c.merchant_id = ANY (merchants) ORDER BY c.merchant_id FOR UPDATE SKIP LOCKED);
  -- In the order in which gateways lock them.
  PERFORM FROM public.webhook_deliveries d JOIN public.events e
            ON d.subject_id = e.subject_id AND d.event_position = e.position AND d.event_id = e.id
    WHERE e.position = ANY (positions) AND e.id >= 'evt_t' AND e.merchant_id = ANY (merchants) ORDER BY d.id FOR NO KEY UPDATE OF d;
  WITH old AS MATERIALIZED (
    SELECT e.position, e.id FROM public.events e
     WHERE e.position = ANY (positions) AND e.merchant_id = ANY (merchants)
       AND e.id >= 'evt_t' AND e.id LIKE 'evt\_test\_%' AND length(e.id) = 35
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
