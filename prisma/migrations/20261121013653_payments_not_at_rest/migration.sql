-- AlterTable
ALTER TABLE "payments" ADD COLUMN     "awaits_operator" BOOLEAN NOT NULL DEFAULT false;

-- CreateIndex
CREATE INDEX "payment_refunds_open" ON "payment_refunds"("payment_id") WHERE (state = ANY (ARRAY['waiting'::payment_refund_state, 'requested'::payment_refund_state]));

-- CreateIndex
CREATE INDEX "payments_not_at_rest" ON "payments"("merchant_id", "id") WHERE ((due_at IS NOT NULL) OR awaits_operator OR (discrepancy IS NOT NULL));

-- ---------------------------------------------------------------------------------------------------------------------
-- Those that may wait for a person are looked at once more, and marked if they do.
UPDATE "payments" p SET "due_at" = now()
 WHERE p."due_at" IS NULL
   AND (p."state" NOT IN ('captured', 'voided', 'refunded', 'declined', 'expired', 'cancelled')
        OR EXISTS (SELECT FROM "receipts" b WHERE b."refund_of" = p."receipt_id" AND b."status" = 'rejected'));
