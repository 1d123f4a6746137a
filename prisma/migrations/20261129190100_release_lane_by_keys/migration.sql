-- As before, but the attempt of a lane is found by its key, whatever the tables were when the plan was made: one that was made while they were
-- empty, and is kept, read the ids of all attempts for each release.
CREATE OR REPLACE FUNCTION release_lane(lock_space integer, of_lane integer, relay text, grace_seconds integer) RETURNS boolean
  LANGUAGE plpgsql VOLATILE SET lock_timeout = '1ms' SET enable_seqscan = off SET enable_sort = off SET plan_cache_mode = force_generic_plan
  SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
  is_due boolean;
BEGIN
  PERFORM pg_advisory_unlock(lock_space, of_lane);
  BEGIN
    SELECT d.state NOT IN ('disabled', 'replaced', 'claimed_elsewhere')
           AND (l.due_at IS NULL OR l.due_at <= now())
           AND (l.settling_relay IS NULL OR l.settling_relay = relay OR l.settle_until + make_interval(secs => grace_seconds) <= now())
           AND (EXISTS (SELECT FROM attempt_claims c
                         WHERE c.device_id = l.device_id
                           AND (SELECT a.state::text FROM attempts a WHERE a.receipt_id = c.receipt_id AND a.id = c.attempt_id) = 'open')
                OR (SELECT r.lane_place FROM receipts r WHERE r.device_id = l.device_id AND r.status = 'accepted'
                     ORDER BY r.lane_place LIMIT 1) IS NOT NULL)
      INTO is_due FROM lanes l JOIN devices d ON d.id = l.device_id WHERE l.lock_number = of_lane;
  EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
  END;
  RETURN coalesce(is_due, false);
END $$;
