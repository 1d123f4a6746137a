-- As waiting_lanes() and open_attempts(), from a place in the order of devices on, so many at most: a sweeper that reads part of all lanes.
CREATE FUNCTION waiting_lanes_after(after text, most integer)
  RETURNS TABLE (device_id text, updated_at timestamptz)
  LANGUAGE plpgsql STABLE SET enable_sort = off AS $$
BEGIN
  RETURN QUERY
    WITH RECURSIVE lane AS (
      (SELECT r.device_id, r.updated_at FROM receipts r
        WHERE r.status = 'accepted' AND r.device_id > after ORDER BY r.device_id, r.lane_place LIMIT 1)
      UNION ALL
      SELECT n.* FROM lane CROSS JOIN LATERAL (
        SELECT r.device_id, r.updated_at FROM receipts r
         WHERE r.status = 'accepted' AND r.device_id > lane.device_id ORDER BY r.device_id, r.lane_place LIMIT 1) AS n
    )
    SELECT * FROM lane LIMIT most;
END $$;

CREATE FUNCTION open_attempts_after(after text, most integer) RETURNS TABLE (device_id text, created_at timestamptz)
  LANGUAGE plpgsql STABLE SET enable_sort = off AS $$
BEGIN
  RETURN QUERY
    SELECT a.device_id, a.created_at FROM attempts a
     WHERE a.state = 'open' AND a.device_id > after ORDER BY a.device_id LIMIT most;
END $$;

-- What a register takes beyond the specification decides where a sale goes.
CREATE TRIGGER devices_notify_capabilities_changed AFTER UPDATE OF capabilities ON devices
  FOR EACH ROW WHEN (OLD.capabilities IS DISTINCT FROM NEW.capabilities)
  EXECUTE FUNCTION notify_device_changed();
