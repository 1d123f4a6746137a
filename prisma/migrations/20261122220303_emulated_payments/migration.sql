-- What a sandbox's simulated provider knows of a payment. A live merchant has none.
CREATE TABLE "emulated_payments" (
    "payment_id" TEXT NOT NULL,
    "merchant_id" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "after_customer" TEXT,
    "customer_at" TIMESTAMPTZ(3),
    "amount_tiyin" BIGINT NOT NULL,
    "refunded_tiyin" BIGINT NOT NULL DEFAULT 0,
    "refund_keys" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "hold_until" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "emulated_payments_pkey" PRIMARY KEY ("payment_id")
);
ALTER TABLE "emulated_payments" ADD CONSTRAINT "emulated_payments_of_sandboxes"
  CHECK (starts_with(merchant_id, 'mer_test_') AND starts_with(payment_id, 'pay_test_'));
