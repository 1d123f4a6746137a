-- As before, and money whose refund the register has refused, or that was cancelled, is not on its way back: its row says `waiting` for good, as only the
-- refund's receipt says that nothing comes of it (PAYMENT_REFUND_MOVES of libs/ledger). Such payments stayed for ever, with all of their receipts.
CREATE OR REPLACE FUNCTION payments_that_may_leave(ids text[], before timestamptz) RETURNS SETOF text
  LANGUAGE plpgsql STABLE
  SET search_path = pg_catalog, public, pg_temp SET plan_cache_mode = force_generic_plan SET jit = off
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
  most_refunds CONSTANT integer := 200;
BEGIN
  RETURN QUERY
    WITH asked AS MATERIALIZED (
      SELECT p.id, p.state, sales_of_payment(p) AS sales FROM payments p
       WHERE p.id = ANY (ids)
         AND p.state IN ('captured', 'voided', 'refunded', 'declined', 'expired', 'cancelled')
         AND p.due_at IS NULL AND NOT p.awaits_operator AND p.discrepancy IS NULL AND (p.lease_until IS NULL OR p.lease_until < before)
         AND p.created_at < before AND p.state_since < before AND p.updated_at < before AND (p.hinted_at IS NULL OR p.hinted_at < before)
         AND NOT EXISTS (SELECT FROM payment_refunds f LEFT JOIN receipts b ON b.id = f.receipt_id
                          WHERE f.payment_id = p.id
                            AND (f.state = 'requested'
                                 OR (f.state = 'waiting' AND b.status IS DISTINCT FROM 'rejected' AND b.status IS DISTINCT FROM 'cancelled')))
         AND NOT EXISTS (SELECT FROM extra_charges c WHERE c.payment_id = p.id AND (c.finished_at IS NULL OR c.finished_at >= before))
         AND NOT EXISTS (SELECT FROM provider_transactions t WHERE t.payment_id = p.id AND t.is_live AND t.state = 1)
    ), resting AS MATERIALIZED (
      SELECT r.id FROM receipts_at_rest(ARRAY(SELECT unnest(a.sales) FROM asked a), before) AS r(id)
    )
    SELECT a.id FROM asked a
     WHERE NOT EXISTS (SELECT FROM unnest(a.sales) AS s(id) WHERE s.id NOT IN (SELECT r.id FROM resting r))
       AND (SELECT count(*) FROM (SELECT FROM receipts f WHERE f.refund_of = ANY (a.sales) LIMIT most_refunds + 1) m) <= most_refunds
       AND (a.state <> 'captured' OR NOT EXISTS (SELECT FROM receipts r WHERE r.id = ANY (a.sales) AND r.status <> 'registered'));
END $$;
