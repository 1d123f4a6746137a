-- Releases a lane that this session holds, and then asks whether something is due there for this relay: what was committed before, its bell having rung in
-- vain while the lane was held, is seen, as each statement of a volatile function has a snapshot of its own. Null: a table is being changed (a migration),
-- and the session, on which all lanes of a relay are taken, waits for no lock; or it was refused. The lane is to be read as usual then. The plan
-- does not depend on statistics, as in the functions of migration lane_reads: without sorts, one index alone has the order of a lane.
CREATE FUNCTION release_lane(lock_space integer, of_lane integer, relay text, grace_seconds integer) RETURNS boolean
  LANGUAGE plpgsql VOLATILE SET lock_timeout = '1ms' SET enable_seqscan = off SET enable_sort = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
  is_due boolean;
BEGIN
  PERFORM pg_advisory_unlock(lock_space, of_lane);
  BEGIN
    SELECT d.state NOT IN ('disabled', 'replaced', 'claimed_elsewhere')
           AND (l.due_at IS NULL OR l.due_at <= now())
           AND (l.settling_relay IS NULL OR l.settling_relay = relay OR l.settle_until + make_interval(secs => grace_seconds) <= now())
           AND (EXISTS (SELECT FROM attempt_claims c JOIN attempts a ON a.receipt_id = c.receipt_id AND a.id = c.attempt_id
                         WHERE c.device_id = l.device_id AND a.state::text = 'open')
                OR (SELECT r.lane_place FROM receipts r WHERE r.device_id = l.device_id AND r.status = 'accepted'
                     ORDER BY r.lane_place LIMIT 1) IS NOT NULL)
      INTO is_due FROM lanes l JOIN devices d ON d.id = l.device_id WHERE l.lock_number = of_lane;
  EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
  END;
  RETURN coalesce(is_due, false);
END $$;
