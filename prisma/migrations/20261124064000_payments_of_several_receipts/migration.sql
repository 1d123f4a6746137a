-- AlterTable
ALTER TABLE "payments" ADD COLUMN "further_receipts" TEXT[] NOT NULL DEFAULT ARRAY[]::TEXT[];

-- What ends or stops a further receipt of a payment, or a refund of one, wakes the payment too. The receipt itself names the payment;
-- of the usual one the payment is found by its receipt, as before.
CREATE OR REPLACE FUNCTION wake_payment() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  sale text := coalesce(NEW.refund_of, NEW.id);
BEGIN
  UPDATE payments SET due_at = now(), news = news + 1 WHERE receipt_id = sale;
  IF NOT FOUND THEN
    UPDATE payments SET due_at = now(), news = news + 1
     WHERE id = (SELECT payment_id FROM receipts WHERE id = sale) AND sale = ANY(further_receipts);
  END IF;
  RETURN NULL;
END
$$;
