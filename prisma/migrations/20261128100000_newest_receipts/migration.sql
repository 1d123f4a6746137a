-- Ids of the newest receipts of a merchant, or of one of its places (a register, a branch or a cashier; the others null): from `since` on, before `before`.
-- At most `most` that are under way and as many that are at rest: the caller orders them. Within a function, so that the plan is kept and no statistics
-- choose it: sorts are off, so that what is read is the one index that has the order of the list, never all that a merchant or a place has. A place and
-- the id are compared as a row: of two columns that are equal to a value PostgreSQL forgets the order, and the merchant's index would fit as well, through
-- which a place that has nothing is looked for to the merchant's first receipt. Ids are compared by the order of the partitions, too.
CREATE FUNCTION newest_receipts(merchant text, device text, branch text, cashier text, since text, before text, most integer) RETURNS SETOF text
  LANGUAGE plpgsql STABLE ROWS 100
  SET plan_cache_mode = force_generic_plan SET jit = off
  SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_incremental_sort = off
AS $$
BEGIN
  RETURN QUERY
    SELECT r.id FROM receipts r
     WHERE r.status IN ('awaiting_payment', 'accepted', 'sending', 'unknown') AND r.merchant_id = merchant
       AND (device IS NULL OR r.device_id = device) AND (branch IS NULL OR r.branch_id = branch) AND (cashier IS NULL OR r.cashier_id = cashier)
       AND r.id >= since AND r.id < before AND r.id ~>=~ since AND r.id ~<~ before
     ORDER BY r.id DESC LIMIT most;
  IF device IS NOT NULL THEN
    RETURN QUERY
      SELECT r.id FROM receipts r
       WHERE r.status NOT IN ('awaiting_payment', 'accepted', 'sending', 'unknown') AND r.merchant_id = merchant
         AND (r.device_id, r.id) >= (device, since) AND (r.device_id, r.id) < (device, before) AND r.id ~>=~ since AND r.id ~<~ before
       ORDER BY r.device_id DESC, r.id DESC LIMIT most;
  ELSIF branch IS NOT NULL THEN
    RETURN QUERY
      SELECT r.id FROM receipts r
       WHERE r.status NOT IN ('awaiting_payment', 'accepted', 'sending', 'unknown') AND r.merchant_id = merchant
         AND (r.branch_id, r.id) >= (branch, since) AND (r.branch_id, r.id) < (branch, before) AND r.id ~>=~ since AND r.id ~<~ before
       ORDER BY r.branch_id DESC, r.id DESC LIMIT most;
  ELSIF cashier IS NOT NULL THEN
    RETURN QUERY
      SELECT r.id FROM receipts r
       WHERE r.status NOT IN ('awaiting_payment', 'accepted', 'sending', 'unknown') AND r.merchant_id = merchant
         AND (r.cashier_id, r.id) >= (cashier, since) AND (r.cashier_id, r.id) < (cashier, before) AND r.id ~>=~ since AND r.id ~<~ before
       ORDER BY r.cashier_id DESC, r.id DESC LIMIT most;
  ELSE
    RETURN QUERY
      SELECT r.id FROM receipts r
       WHERE r.status NOT IN ('awaiting_payment', 'accepted', 'sending', 'unknown') AND r.merchant_id = merchant
         AND r.id >= since AND r.id < before AND r.id ~>=~ since AND r.id ~<~ before
       ORDER BY r.id DESC LIMIT most;
  END IF;
END $$;
