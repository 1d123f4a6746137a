-- Ids of the newest receipts of a merchant, or of one of its places (a register, a branch or a cashier; the others null): from `since` on, before `before`.
-- At most `most` that are under way and as many that are at rest: the caller orders them. Within a function, so that the plan is kept and no statistics
-- choose it. Sorts are off, and what the list is of is compared with the id as a row, in the order of the list: so only its own index has that order.
-- Where an id is compared by itself, the primary key has it as well, through which what has nothing is looked for to the first receipt of all. Only places
-- of the merchant: in the index of another one's place each of its receipts would be looked at. Ids are compared by the order of the partitions, too.
CREATE FUNCTION newest_receipts(merchant text, device text, branch text, cashier text, since text, before text, most integer) RETURNS SETOF text
  LANGUAGE plpgsql STABLE ROWS 100
  SET plan_cache_mode = force_generic_plan SET jit = off
  SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_incremental_sort = off
AS $$
BEGIN
  IF (device IS NOT NULL AND NOT EXISTS (SELECT FROM devices d WHERE d.id = device AND d.merchant_id = merchant))
     OR (branch IS NOT NULL AND NOT EXISTS (SELECT FROM branches b WHERE b.id = branch AND b.merchant_id = merchant))
     OR (cashier IS NOT NULL AND NOT EXISTS (SELECT FROM cashiers c WHERE c.id = cashier AND c.merchant_id = merchant)) THEN
    RETURN;
  END IF;
  RETURN QUERY
    SELECT r.id FROM receipts r
     WHERE r.status IN ('awaiting_payment', 'accepted', 'sending', 'unknown')
       AND (device IS NULL OR r.device_id = device) AND (branch IS NULL OR r.branch_id = branch) AND (cashier IS NULL OR r.cashier_id = cashier)
       AND (r.merchant_id, r.id) >= (merchant, since) AND (r.merchant_id, r.id) < (merchant, before) AND r.id ~>=~ since AND r.id ~<~ before
     ORDER BY r.merchant_id DESC, r.id DESC LIMIT most;
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
       WHERE r.status NOT IN ('awaiting_payment', 'accepted', 'sending', 'unknown')
         AND (r.merchant_id, r.id) >= (merchant, since) AND (r.merchant_id, r.id) < (merchant, before) AND r.id ~>=~ since AND r.id ~<~ before
       ORDER BY r.merchant_id DESC, r.id DESC LIMIT most;
  END IF;
END $$;
