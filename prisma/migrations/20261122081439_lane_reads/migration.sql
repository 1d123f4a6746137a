-- Reads of lanes whose plan does not depend on statistics (docs/adr/0060-lane-reads.md). With enable_sort off each ORDER BY below is
-- answered by the one index that has this order, whatever the planner believes about how much waits; every other plan would sort.

-- What waits in a lane, the next one first.
CREATE FUNCTION lane_waiting(lane text, most integer)
  RETURNS TABLE (id text, lane_place bigint, document jsonb, extra_info jsonb)
  LANGUAGE plpgsql STABLE ROWS 10 SET enable_sort = off AS $$
BEGIN
  RETURN QUERY
    SELECT r.id, r.lane_place, r.document, r.extra_info FROM receipts r
     WHERE r.device_id = lane AND r.status = 'accepted' ORDER BY r.lane_place LIMIT most;
END $$;

-- The same without their documents, to be moved.
CREATE FUNCTION lane_places(lane text, most integer)
  RETURNS TABLE (id text, lane_place bigint, type receipt_type, created_at timestamptz)
  LANGUAGE plpgsql STABLE ROWS 100 SET enable_sort = off AS $$
BEGIN
  RETURN QUERY
    SELECT r.id, r.lane_place, r.type, r.created_at FROM receipts r
     WHERE r.device_id = lane AND r.status = 'accepted' ORDER BY r.lane_place LIMIT most;
END $$;

-- How many wait in a lane, counted up to a bound.
CREATE FUNCTION lane_length(lane text, most integer) RETURNS integer
  LANGUAGE plpgsql STABLE SET enable_sort = off AS $$
BEGIN
  RETURN (SELECT count(*) FROM (SELECT FROM receipts r WHERE r.device_id = lane AND r.status = 'accepted'
                                 ORDER BY r.lane_place LIMIT most) AS counted);
END $$;

-- The first of every lane in which something waits: one look into the index per lane, however much waits there.
CREATE FUNCTION waiting_lanes()
  RETURNS TABLE (device_id text, receipt_id text, created_at timestamptz, updated_at timestamptz)
  LANGUAGE plpgsql STABLE SET enable_sort = off AS $$
BEGIN
  RETURN QUERY
    WITH RECURSIVE lane AS (
      (SELECT r.device_id, r.id, r.created_at, r.updated_at FROM receipts r
        WHERE r.status = 'accepted' AND r.device_id IS NOT NULL ORDER BY r.device_id, r.lane_place LIMIT 1)
      UNION ALL
      SELECT n.* FROM lane CROSS JOIN LATERAL (
        SELECT r.device_id, r.id, r.created_at, r.updated_at FROM receipts r
         WHERE r.status = 'accepted' AND r.device_id > lane.device_id ORDER BY r.device_id, r.lane_place LIMIT 1) AS n
    )
    SELECT * FROM lane;
END $$;

-- How many wait in all lanes, counted up to a bound.
CREATE FUNCTION waiting_receipts(most integer) RETURNS integer
  LANGUAGE plpgsql STABLE SET enable_sort = off AS $$
BEGIN
  RETURN (SELECT count(*) FROM (SELECT FROM receipts r WHERE r.status = 'accepted' AND r.device_id IS NOT NULL
                                 ORDER BY r.device_id, r.lane_place LIMIT most) AS counted);
END $$;

-- The devices with receipts that the OFD has not got: one look into the index per device.
CREATE FUNCTION owing_devices() RETURNS TABLE (device_id text)
  LANGUAGE plpgsql STABLE SET enable_sort = off AS $$
BEGIN
  RETURN QUERY
    WITH RECURSIVE owing AS (
      (SELECT r.device_id FROM receipts r
        WHERE r.ofd_status = 'pending' AND r.device_id IS NOT NULL ORDER BY r.device_id, r.ofd_deadline_at LIMIT 1)
      UNION ALL
      SELECT n.* FROM owing CROSS JOIN LATERAL (
        SELECT r.device_id FROM receipts r
         WHERE r.ofd_status = 'pending' AND r.device_id > owing.device_id
         ORDER BY r.device_id, r.ofd_deadline_at LIMIT 1) AS n
    )
    SELECT * FROM owing;
END $$;

-- How many that were warned of so far, or not yet, are unsent and due to have been sent before a moment, counted up to a bound.
CREATE FUNCTION unsent_before(alerts smallint, deadline timestamptz, most integer) RETURNS integer
  LANGUAGE plpgsql STABLE SET enable_sort = off AS $$
BEGIN
  IF alerts = 2 THEN
    RETURN (SELECT count(*) FROM (SELECT FROM receipts r
                                   WHERE r.ofd_status = 'pending' AND r.ofd_alerts = 2 AND r.ofd_deadline_at <= deadline
                                   ORDER BY r.ofd_deadline_at LIMIT most) AS counted);
  END IF;
  RETURN (SELECT count(*) FROM (SELECT FROM receipts r
                                 WHERE r.ofd_status = 'pending' AND r.ofd_alerts < 2 AND r.ofd_alerts = alerts
                                   AND r.ofd_deadline_at <= deadline
                                 ORDER BY r.ofd_deadline_at LIMIT most) AS counted);
END $$;

-- The open attempt of a lane. The bounds are those of one device: written as an equation they would make the order meaningless.
CREATE FUNCTION lane_open_attempt(lane text) RETURNS text
  LANGUAGE plpgsql STABLE SET enable_sort = off AS $$
BEGIN
  RETURN (SELECT a.id FROM attempts a WHERE a.device_id >= lane AND a.device_id <= lane AND a.state = 'open'
           ORDER BY a.device_id LIMIT 1);
END $$;

-- The open attempts of all lanes: at most one of each.
CREATE FUNCTION open_attempts() RETURNS TABLE (device_id text, attempt_id text, created_at timestamptz)
  LANGUAGE plpgsql STABLE SET enable_sort = off AS $$
BEGIN
  RETURN QUERY SELECT a.device_id, a.id, a.created_at FROM attempts a WHERE a.state = 'open' ORDER BY a.device_id;
END $$;
