-- As before, with the time at which each was accepted: whether it is older than a restore is asked of every receipt of a lane, and a join
-- with the table for it would be planned by statistics again.
DROP FUNCTION lane_waiting(text, integer);
CREATE FUNCTION lane_waiting(lane text, most integer)
  RETURNS TABLE (id text, lane_place bigint, document jsonb, extra_info jsonb, created_at timestamptz)
  LANGUAGE plpgsql STABLE ROWS 10 SET enable_sort = off AS $$
BEGIN
  RETURN QUERY
    SELECT r.id, r.lane_place, r.document, r.extra_info, r.created_at FROM receipts r
     WHERE r.device_id = lane AND r.status = 'accepted' ORDER BY r.lane_place LIMIT most;
END $$;
