-- AlterTable
ALTER TABLE "provider_transactions" ADD COLUMN     "attempt_number" BIGINT,
ADD COLUMN     "payment_number" TEXT;

-- CreateTable
CREATE TABLE "extra_charges" (
    "id" BIGSERIAL NOT NULL,
    "payment_id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "provider_ref" TEXT NOT NULL,
    "amount_tiyin" BIGINT NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'reported',
    "reason" TEXT NOT NULL,
    "tries" INTEGER NOT NULL DEFAULT 0,
    "refund_calls" INTEGER NOT NULL DEFAULT 0,
    "called_at" TIMESTAMPTZ(3),
    "due_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "extra_charges_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "extra_charges_payment_id_idx" ON "extra_charges"("payment_id");

-- CreateIndex
CREATE INDEX "extra_charges_due" ON "extra_charges"("due_at") WHERE (due_at IS NOT NULL);

-- CreateIndex
CREATE INDEX "extra_charges_open" ON "extra_charges"("payment_id") WHERE (finished_at IS NULL);

-- CreateIndex
CREATE UNIQUE INDEX "extra_charges_account_id_provider_ref_key" ON "extra_charges"("account_id", "provider_ref");

-- ---------------------------------------------------------------------------------------------------------------------
-- Each attempt of Click's has a number of its own. Those from before this keep the number of their payment (null).
CREATE SEQUENCE "click_attempt_seq" CACHE 1;
