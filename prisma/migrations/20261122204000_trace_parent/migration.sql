-- Where the request stands in its trace (W3C Trace Context), so that what is done for the receipt later, by other programs, is in the same
-- one. Null unless the request was sampled.
ALTER TABLE "receipts" ADD COLUMN "trace_parent" TEXT;

-- As before, with the column.
DROP FUNCTION lane_waiting(text, integer);
CREATE FUNCTION lane_waiting(lane text, most integer)
  RETURNS TABLE (id text, lane_place bigint, document jsonb, extra_info jsonb, created_at timestamptz, trace_parent text)
  LANGUAGE plpgsql STABLE ROWS 10 SET enable_sort = off AS $$
BEGIN
  RETURN QUERY
    SELECT r.id, r.lane_place, r.document, r.extra_info, r.created_at, r.trace_parent FROM receipts r
     WHERE r.device_id = lane AND r.status = 'accepted' ORDER BY r.lane_place LIMIT most;
END $$;
