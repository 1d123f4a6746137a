-- CreateEnum
CREATE TYPE "payment_state" AS ENUM ('created', 'pending', 'reserved', 'authorizing', 'authorize_unknown', 'authorized', 'capturing', 'capture_unknown', 'capture_refused', 'captured', 'voiding', 'void_unknown', 'voided', 'refunding', 'refund_unknown', 'refunded', 'declined', 'expired', 'cancelled', 'manual');

-- CreateEnum
CREATE TYPE "payment_refund_state" AS ENUM ('waiting', 'requested', 'done', 'dropped');

-- CreateTable
CREATE TABLE "provider_accounts" (
    "id" TEXT NOT NULL,
    "merchant_id" TEXT NOT NULL,
    "provider" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "settings" JSONB NOT NULL,
    "credentials_sealed" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "disabled_at" TIMESTAMPTZ(3),

    CONSTRAINT "provider_accounts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "payments" (
    "id" TEXT NOT NULL,
    "number" BIGSERIAL NOT NULL,
    "merchant_id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "receipt_id" TEXT NOT NULL,
    "provider" TEXT NOT NULL,
    "flow" TEXT NOT NULL,
    "state" "payment_state" NOT NULL,
    "amount_tiyin" BIGINT NOT NULL,
    "refunded_tiyin" BIGINT NOT NULL DEFAULT 0,
    "provider_ref" TEXT,
    "instrument_sealed" BYTEA,
    "return_url" TEXT,
    "next_action" JSONB,
    "evidence" JSONB,
    "reason" TEXT,
    "waits_for_capture" BOOLEAN NOT NULL DEFAULT false,
    "cancel_requested_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "hold_until" TIMESTAMPTZ(3),
    "link" TEXT NOT NULL DEFAULT 'missing',
    "due_at" TIMESTAMPTZ(3),
    "failures" INTEGER NOT NULL DEFAULT 0,
    "news" INTEGER NOT NULL DEFAULT 0,
    "lease_id" TEXT,
    "lease_until" TIMESTAMPTZ(3),
    "compared_at" TIMESTAMPTZ(3),
    "discrepancy" JSONB,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "state_since" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "payments_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "payment_calls" (
    "id" BIGSERIAL NOT NULL,
    "payment_id" TEXT NOT NULL,
    "call" TEXT NOT NULL,
    "lease_id" TEXT NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),
    "outcome" JSONB,

    CONSTRAINT "payment_calls_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "payment_refunds" (
    "id" BIGSERIAL NOT NULL,
    "payment_id" TEXT NOT NULL,
    "receipt_id" TEXT,
    "amount_tiyin" BIGINT NOT NULL,
    "state" "payment_refund_state" NOT NULL,
    "reason" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "payment_refunds_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "provider_transactions" (
    "account_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "payment_id" TEXT NOT NULL,
    "state" SMALLINT NOT NULL,
    "is_live" BOOLEAN NOT NULL,
    "amount_tiyin" BIGINT NOT NULL,
    "provider_time_ms" BIGINT NOT NULL,
    "create_time_ms" BIGINT NOT NULL,
    "perform_time_ms" BIGINT NOT NULL DEFAULT 0,
    "cancel_time_ms" BIGINT NOT NULL DEFAULT 0,
    "reason" SMALLINT,
    "fiscal_data" JSONB,

    CONSTRAINT "provider_transactions_pkey" PRIMARY KEY ("account_id","id")
);

-- CreateTable
CREATE TABLE "provider_callbacks" (
    "id" BIGSERIAL NOT NULL,
    "account_id" TEXT NOT NULL,
    "address" TEXT NOT NULL,
    "body" BYTEA NOT NULL,
    "answer" JSONB,
    "received_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "provider_callbacks_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "provider_accounts_one_live_per_provider" ON "provider_accounts"("merchant_id", "provider") WHERE (disabled_at IS NULL);

-- CreateIndex
CREATE UNIQUE INDEX "payments_number_key" ON "payments"("number");

-- CreateIndex
CREATE UNIQUE INDEX "payments_receipt_id_key" ON "payments"("receipt_id");

-- CreateIndex
CREATE INDEX "payments_due" ON "payments"("due_at") WHERE (due_at IS NOT NULL);

-- CreateIndex
CREATE INDEX "payments_of_merchant" ON "payments"("merchant_id", "id");

-- CreateIndex
CREATE INDEX "payments_unfinished" ON "payments"("merchant_id", "state_since") WHERE (state <> ALL (ARRAY['captured'::payment_state, 'voided'::payment_state, 'refunded'::payment_state, 'declined'::payment_state, 'expired'::payment_state, 'cancelled'::payment_state]));

-- CreateIndex
CREATE INDEX "payments_not_compared" ON "payments"("state_since") WHERE (compared_at IS NULL);

-- CreateIndex
CREATE UNIQUE INDEX "payments_one_per_provider_ref" ON "payments"("account_id", "provider_ref") WHERE (provider_ref IS NOT NULL);

-- CreateIndex
CREATE INDEX "payment_calls_payment_id_id_idx" ON "payment_calls"("payment_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "payment_calls_one_open_per_payment" ON "payment_calls"("payment_id") WHERE (finished_at IS NULL);

-- CreateIndex
CREATE UNIQUE INDEX "payment_refunds_receipt_id_key" ON "payment_refunds"("receipt_id");

-- CreateIndex
CREATE INDEX "payment_refunds_payment_id_id_idx" ON "payment_refunds"("payment_id", "id");

-- CreateIndex
CREATE INDEX "provider_transactions_statement" ON "provider_transactions"("account_id", "provider_time_ms", "id");

-- CreateIndex
CREATE UNIQUE INDEX "provider_transactions_one_live_per_payment" ON "provider_transactions"("payment_id") WHERE (is_live);

-- CreateIndex
CREATE INDEX "provider_callbacks_account_id_id_idx" ON "provider_callbacks"("account_id", "id");

-- AddForeignKey
ALTER TABLE "payments" ADD CONSTRAINT "payments_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "provider_accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- ---------------------------------------------------------------------------------------------------------------------
-- What Prisma's schema language cannot say (docs/architecture.md lists it).

-- Whoever moves a receipt (relay, operator, client), its payment is due with the same commit: a cancelled receipt starts the
-- way back of its money, a registered one the capture. A refund wakes the payment of its sale.
CREATE FUNCTION wake_payment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE payments SET due_at = now(), news = news + 1 WHERE receipt_id = coalesce(NEW.refund_of, NEW.id);
  RETURN NULL;
END
$$;
CREATE TRIGGER receipts_wake_payment AFTER UPDATE OF status ON receipts
  FOR EACH ROW WHEN (NEW.status IS DISTINCT FROM OLD.status AND (NEW.payment_id IS NOT NULL OR NEW.refund_of IS NOT NULL))
  EXECUTE FUNCTION wake_payment();
