-- Those that were there before the trigger of the migration before this one, with what waits to be sent of them. By its index, and apart from
-- it: writers of other events do not wait. Of events in partitions the keeper does it, some at a time.
DO $$
BEGIN
  IF (SELECT relkind FROM pg_class WHERE oid = 'events'::regclass) = 'r' THEN
    WITH old AS MATERIALIZED (
      SELECT position, id FROM events WHERE id >= 'evt_t' AND id LIKE 'evt\_test\_%' AND length(id) = 35
    ), dated AS (
      UPDATE events e SET id = 'evt_' || right(o.id, 26) FROM old o WHERE e.id = o.id
      RETURNING e.position, e.subject_id, e.id, o.id AS before
    )
    UPDATE webhook_deliveries d SET event_id = n.id FROM dated n
     WHERE d.subject_id = n.subject_id AND d.event_position = n.position AND d.event_id = n.before;
  END IF;
END $$;
