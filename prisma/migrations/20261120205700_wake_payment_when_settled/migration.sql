-- On its way through the lane (accepted, sending, back to accepted) a receipt asks nothing of its payment: each wake costs a
-- rewritten row and a look that finds nothing to do. What ends a receipt, or stops it, wakes its payment as before.
DROP TRIGGER receipts_wake_payment ON receipts;
CREATE TRIGGER receipts_wake_payment AFTER UPDATE OF status ON receipts
  FOR EACH ROW WHEN (NEW.status IS DISTINCT FROM OLD.status AND NEW.status NOT IN ('accepted', 'sending')
                     AND (NEW.payment_id IS NOT NULL OR NEW.refund_of IS NOT NULL))
  EXECUTE FUNCTION wake_payment();
