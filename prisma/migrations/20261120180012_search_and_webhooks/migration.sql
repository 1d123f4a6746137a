-- CreateEnum
CREATE TYPE "webhook_kind" AS ENUM ('endpoint', 'callback');

-- CreateEnum
CREATE TYPE "delivery_state" AS ENUM ('pending', 'delivered', 'failed');

-- DropIndex
DROP INDEX "events_merchant_id_position_idx";

-- CreateTable
CREATE TABLE "webhook_endpoints" (
    "id" TEXT NOT NULL,
    "merchant_id" TEXT NOT NULL,
    "kind" "webhook_kind" NOT NULL DEFAULT 'endpoint',
    "url" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "events" TEXT[],
    "disabled_at" TIMESTAMPTZ(3),
    "disabled_reason" TEXT,
    "failing_since" TIMESTAMPTZ(3),
    "failures" INTEGER NOT NULL DEFAULT 0,
    "blocked_until" TIMESTAMPTZ(3),
    "due_at" TIMESTAMPTZ(3),
    "lease_until" TIMESTAMPTZ(3),
    "wakes" BIGINT NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "deleted_at" TIMESTAMPTZ(3),

    CONSTRAINT "webhook_endpoints_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "webhook_secrets" (
    "owner_id" TEXT NOT NULL,
    "secret_sealed" BYTEA NOT NULL,
    "previous_sealed" BYTEA,
    "previous_until" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "webhook_secrets_pkey" PRIMARY KEY ("owner_id")
);

-- CreateTable
CREATE TABLE "webhook_deliveries" (
    "id" TEXT NOT NULL,
    "sequence" BIGSERIAL NOT NULL,
    "merchant_id" TEXT NOT NULL,
    "endpoint_id" TEXT NOT NULL,
    "event_position" BIGINT NOT NULL,
    "event_id" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "subject_id" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "state" "delivery_state" NOT NULL DEFAULT 'pending',
    "attempt_count" INTEGER NOT NULL DEFAULT 0,
    "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "webhook_deliveries_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "webhook_attempts" (
    "delivery_id" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "duration_ms" INTEGER NOT NULL,
    "outcome" TEXT NOT NULL,
    "http_status" INTEGER,
    "answer" TEXT,

    CONSTRAINT "webhook_attempts_pkey" PRIMARY KEY ("delivery_id","number")
);

-- CreateTable
CREATE TABLE "webhook_cursors" (
    "merchant_id" TEXT NOT NULL,
    "position" BIGINT NOT NULL,

    CONSTRAINT "webhook_cursors_pkey" PRIMARY KEY ("merchant_id")
);

-- CreateIndex
CREATE UNIQUE INDEX "webhook_endpoints_one_callback_per_origin" ON "webhook_endpoints"("merchant_id", "url") WHERE (kind = 'callback'::webhook_kind);

-- CreateIndex
CREATE INDEX "webhook_endpoints_merchant_id_id_idx" ON "webhook_endpoints"("merchant_id", "id");

-- CreateIndex
CREATE INDEX "webhook_endpoints_due" ON "webhook_endpoints"("due_at") WHERE (due_at IS NOT NULL);

-- CreateIndex
CREATE INDEX "webhook_deliveries_due" ON "webhook_deliveries"("endpoint_id", "due_at") WHERE (state = 'pending'::delivery_state);

-- CreateIndex
CREATE INDEX "webhook_deliveries_in_order" ON "webhook_deliveries"("endpoint_id", "subject_id", "sequence") WHERE (state = 'pending'::delivery_state);

-- CreateIndex
CREATE INDEX "webhook_deliveries_newest" ON "webhook_deliveries"("endpoint_id", "id");

-- CreateIndex
CREATE INDEX "webhook_deliveries_subject_id_idx" ON "webhook_deliveries"("subject_id");

-- CreateIndex
CREATE INDEX "events_in_order" ON "events"("merchant_id", "transaction_id", "position");

-- CreateIndex
CREATE INDEX "receipts_under_way" ON "receipts"("merchant_id", "id") WHERE (status = ANY (ARRAY['awaiting_payment'::receipt_status, 'accepted'::receipt_status, 'sending'::receipt_status, 'unknown'::receipt_status]));

-- CreateIndex
CREATE INDEX "receipts_settled" ON "receipts"("merchant_id", "id") WHERE (status = ANY (ARRAY['registered'::receipt_status, 'rejected'::receipt_status, 'cancelled'::receipt_status]));

-- CreateIndex
CREATE INDEX "receipts_settled_by_device" ON "receipts"("device_id", "id") WHERE (status = ANY (ARRAY['registered'::receipt_status, 'rejected'::receipt_status, 'cancelled'::receipt_status]));

-- CreateIndex
CREATE INDEX "receipts_settled_by_branch" ON "receipts"("branch_id", "id") WHERE (status = ANY (ARRAY['registered'::receipt_status, 'rejected'::receipt_status, 'cancelled'::receipt_status]));

-- CreateIndex
CREATE INDEX "receipts_settled_by_cashier" ON "receipts"("cashier_id", "id") WHERE (status = ANY (ARRAY['registered'::receipt_status, 'rejected'::receipt_status, 'cancelled'::receipt_status]));

-- CreateIndex
CREATE INDEX "receipts_settled_by_total" ON "receipts"("merchant_id", "total_tiyin", "id") WHERE (status = ANY (ARRAY['registered'::receipt_status, 'rejected'::receipt_status, 'cancelled'::receipt_status]));

-- CreateIndex
CREATE INDEX "receipts_refused" ON "receipts"("merchant_id", "status", "id") WHERE (status = ANY (ARRAY['rejected'::receipt_status, 'cancelled'::receipt_status]));

-- CreateIndex
CREATE INDEX "receipts_other_than_sales" ON "receipts"("merchant_id", "type", "id") WHERE (type <> 'sale'::receipt_type);

-- CreateIndex
CREATE INDEX "receipts_by_registration" ON "receipts"("merchant_id", "registered_at", "id") WHERE (status = 'registered'::receipt_status);

-- CreateIndex
CREATE INDEX "receipts_of_shift" ON "receipts"("terminal_id", "registered_at") WHERE (status = 'registered'::receipt_status);

-- CreateIndex
CREATE INDEX "shifts_by_opening" ON "shifts"("opened_at");

-- AddForeignKey
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_endpoint_id_fkey" FOREIGN KEY ("endpoint_id") REFERENCES "webhook_endpoints"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook_attempts" ADD CONSTRAINT "webhook_attempts_delivery_id_fkey" FOREIGN KEY ("delivery_id") REFERENCES "webhook_deliveries"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- Deliveries begin with what happens from now on: nobody is called back for receipts of long ago.
INSERT INTO webhook_cursors (merchant_id, position)
SELECT m.id, coalesce((SELECT max(e.position) FROM events e WHERE e.merchant_id = m.id), 0) FROM merchants m;
