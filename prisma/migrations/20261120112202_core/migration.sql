-- CreateEnum
CREATE TYPE "receipt_status" AS ENUM ('awaiting_payment', 'accepted', 'sending', 'registered', 'rejected', 'unknown', 'cancelled');

-- CreateEnum
CREATE TYPE "receipt_type" AS ENUM ('sale', 'refund', 'advance', 'credit');

-- CreateEnum
CREATE TYPE "ofd_status" AS ENUM ('pending', 'sent');

-- CreateEnum
CREATE TYPE "evidence" AS ENUM ('answer', 'journal', 'counters', 'operator');

-- CreateEnum
CREATE TYPE "attempt_state" AS ENUM ('open', 'registered', 'rejected', 'not_registered', 'unknown');

-- CreateEnum
CREATE TYPE "device_state" AS ENUM ('online', 'degraded', 'unreachable', 'blocked', 'expired', 'replaced', 'disabled');

-- CreateTable
CREATE TABLE "merchants" (
    "id" TEXT NOT NULL,
    "code" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "tin" TEXT NOT NULL,
    "settings" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "merchants_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "branches" (
    "id" TEXT NOT NULL,
    "merchant_id" TEXT NOT NULL,
    "code" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "address" TEXT NOT NULL DEFAULT '',
    "default_device_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "branches_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "cashiers" (
    "id" TEXT NOT NULL,
    "merchant_id" TEXT NOT NULL,
    "branch_id" TEXT,
    "code" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "default_device_id" TEXT,
    "archived_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "cashiers_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "oauth_clients" (
    "id" TEXT NOT NULL,
    "merchant_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "secret_hash" BYTEA NOT NULL,
    "scopes" TEXT[],
    "require_idempotency_key" BOOLEAN NOT NULL DEFAULT false,
    "disabled_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "oauth_clients_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "oauth_tokens" (
    "token_hash" BYTEA NOT NULL,
    "client_id" TEXT NOT NULL,
    "scopes" TEXT[],
    "issued_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "revoked_at" TIMESTAMPTZ(3),

    CONSTRAINT "oauth_tokens_pkey" PRIMARY KEY ("token_hash")
);

-- CreateTable
CREATE TABLE "devices" (
    "id" TEXT NOT NULL,
    "merchant_id" TEXT NOT NULL,
    "branch_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "state" "device_state" NOT NULL DEFAULT 'online',
    "state_reason" TEXT,
    "base_url" TEXT NOT NULL,
    "api_key_sealed" BYTEA NOT NULL,
    "profile" JSONB NOT NULL DEFAULT '{}',
    "terminal_id" TEXT,
    "journal_id" TEXT,
    "capabilities" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "subscription_expires_at" TIMESTAMPTZ(3),
    "last_seen_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "deleted_at" TIMESTAMPTZ(3),

    CONSTRAINT "devices_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "lanes" (
    "device_id" TEXT NOT NULL,
    "lock_number" SERIAL NOT NULL,
    "due_at" TIMESTAMPTZ(3),
    "due_reason" TEXT,
    "failures" INTEGER NOT NULL DEFAULT 0,
    "baseline" JSONB,
    "last_known" JSONB,
    "calibration" JSONB,
    "must_settle" BOOLEAN NOT NULL DEFAULT false,
    "settling_relay" TEXT,
    "settle_until" TIMESTAMPTZ(3),
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "lanes_pkey" PRIMARY KEY ("device_id")
);

-- CreateTable
CREATE TABLE "products" (
    "merchant_id" TEXT NOT NULL,
    "sku" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "name_key" TEXT NOT NULL,
    "barcode" TEXT,
    "spic" TEXT NOT NULL,
    "package_code" TEXT NOT NULL,
    "units" INTEGER NOT NULL,
    "vat_percent" SMALLINT NOT NULL,
    "price_tiyin" BIGINT,
    "archived_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "products_pkey" PRIMARY KEY ("merchant_id","sku")
);

-- CreateTable
CREATE TABLE "classifier_entries" (
    "spic" TEXT NOT NULL,
    "name" JSONB NOT NULL,
    "packages" JSONB NOT NULL,
    "units" INTEGER NOT NULL,
    "marked" BOOLEAN NOT NULL,
    "cash_allowed" BOOLEAN NOT NULL,
    "vat_percents" SMALLINT[],
    "active" BOOLEAN NOT NULL,
    "version" INTEGER NOT NULL,

    CONSTRAINT "classifier_entries_pkey" PRIMARY KEY ("spic")
);

-- CreateTable
CREATE TABLE "receipts" (
    "id" TEXT NOT NULL,
    "merchant_id" TEXT NOT NULL,
    "client_id" TEXT NOT NULL,
    "operation" TEXT NOT NULL,
    "idempotency_key" TEXT,
    "external_id" TEXT,
    "body_hash" BYTEA NOT NULL,
    "type" "receipt_type" NOT NULL,
    "status" "receipt_status" NOT NULL,
    "lane_place" BIGINT,
    "device_id" TEXT,
    "branch_id" TEXT,
    "cashier_id" TEXT,
    "document" JSONB NOT NULL,
    "total_tiyin" BIGINT NOT NULL,
    "vat_total_tiyin" BIGINT NOT NULL,
    "refund_of" TEXT,
    "payment_id" TEXT,
    "dispatch_before" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "terminal_id" TEXT,
    "receipt_seq" BIGINT,
    "fiscal_sign" TEXT,
    "verification_url" TEXT,
    "registered_at" TIMESTAMPTZ(3),
    "evidence" "evidence",
    "ofd_status" "ofd_status",
    "ofd_deadline_at" TIMESTAMPTZ(3),
    "ofd_sent_at" TIMESTAMPTZ(3),
    "ofd_error" TEXT,
    "rejection" JSONB,

    CONSTRAINT "receipts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "attempts" (
    "id" TEXT NOT NULL,
    "receipt_id" TEXT NOT NULL,
    "device_id" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "state" "attempt_state" NOT NULL,
    "baseline" JSONB NOT NULL,
    "request" BYTEA NOT NULL,
    "relay_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "closed_at" TIMESTAMPTZ(3),
    "http_status" INTEGER,
    "outcome" JSONB,

    CONSTRAINT "attempts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "shifts" (
    "id" TEXT NOT NULL,
    "device_id" TEXT NOT NULL,
    "terminal_id" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "opened_at" TIMESTAMPTZ(3) NOT NULL,
    "closed_at" TIMESTAMPTZ(3),

    CONSTRAINT "shifts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "z_reports" (
    "shift_id" TEXT NOT NULL,
    "totals" JSONB NOT NULL,
    "ofd_status" "ofd_status" NOT NULL,
    "ofd_sent_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "z_reports_pkey" PRIMARY KEY ("shift_id")
);

-- CreateTable
CREATE TABLE "events" (
    "position" BIGSERIAL NOT NULL,
    "transaction_id" xid8 NOT NULL DEFAULT pg_current_xact_id(),
    "id" TEXT NOT NULL,
    "merchant_id" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "subject_id" TEXT NOT NULL,
    "data" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "events_pkey" PRIMARY KEY ("position")
);

-- CreateTable
CREATE TABLE "audit_records" (
    "merchant_id" TEXT NOT NULL,
    "sequence" BIGINT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "actor" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "target_id" TEXT NOT NULL,
    "before" JSONB,
    "after" JSONB,
    "address" TEXT,
    "request_id" TEXT,
    "previous_hash" BYTEA NOT NULL,
    "hash" BYTEA NOT NULL,

    CONSTRAINT "audit_records_pkey" PRIMARY KEY ("merchant_id","sequence")
);

-- CreateIndex
CREATE UNIQUE INDEX "merchants_code_key" ON "merchants"("code");

-- CreateIndex
CREATE UNIQUE INDEX "branches_merchant_id_code_key" ON "branches"("merchant_id", "code");

-- CreateIndex
CREATE UNIQUE INDEX "cashiers_merchant_id_code_key" ON "cashiers"("merchant_id", "code");

-- CreateIndex
CREATE INDEX "oauth_tokens_expires_at_idx" ON "oauth_tokens"("expires_at");

-- CreateIndex
CREATE INDEX "devices_merchant_id_branch_id_idx" ON "devices"("merchant_id", "branch_id");

-- CreateIndex
CREATE UNIQUE INDEX "devices_one_live_per_terminal" ON "devices"("terminal_id") WHERE (deleted_at IS NULL AND terminal_id IS NOT NULL);

-- CreateIndex
CREATE UNIQUE INDEX "lanes_lock_number_key" ON "lanes"("lock_number");

-- CreateIndex
CREATE INDEX "products_live_name" ON "products"("merchant_id", "name_key") WHERE (archived_at IS NULL);

-- CreateIndex
CREATE INDEX "products_live_barcode" ON "products"("merchant_id", "barcode") WHERE (archived_at IS NULL AND barcode IS NOT NULL);

-- CreateIndex
CREATE INDEX "receipts_waiting_in_lane" ON "receipts"("device_id", "lane_place") WHERE (status = 'accepted'::receipt_status);

-- CreateIndex
CREATE UNIQUE INDEX "receipts_one_per_key" ON "receipts"("client_id", "operation", "idempotency_key") WHERE (idempotency_key IS NOT NULL);

-- CreateIndex
CREATE UNIQUE INDEX "receipts_one_per_external_id" ON "receipts"("merchant_id", "external_id") WHERE (external_id IS NOT NULL);

-- CreateIndex
CREATE UNIQUE INDEX "receipts_one_per_registration" ON "receipts"("terminal_id", "receipt_seq") WHERE (receipt_seq IS NOT NULL);

-- CreateIndex
CREATE UNIQUE INDEX "attempts_one_open_per_device" ON "attempts"("device_id") WHERE (state = 'open'::attempt_state);

-- CreateIndex
CREATE UNIQUE INDEX "attempts_one_open_per_receipt" ON "attempts"("receipt_id") WHERE (state = 'open'::attempt_state);

-- CreateIndex
CREATE UNIQUE INDEX "attempts_one_registration_per_receipt" ON "attempts"("receipt_id") WHERE (state = 'registered'::attempt_state);

-- CreateIndex
CREATE UNIQUE INDEX "attempts_receipt_id_number_key" ON "attempts"("receipt_id", "number");

-- CreateIndex
CREATE INDEX "shifts_device_id_idx" ON "shifts"("device_id");

-- CreateIndex
CREATE UNIQUE INDEX "shifts_terminal_id_number_key" ON "shifts"("terminal_id", "number");

-- CreateIndex
CREATE INDEX "events_merchant_id_position_idx" ON "events"("merchant_id", "position");

-- AddForeignKey
ALTER TABLE "branches" ADD CONSTRAINT "branches_merchant_id_fkey" FOREIGN KEY ("merchant_id") REFERENCES "merchants"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "cashiers" ADD CONSTRAINT "cashiers_merchant_id_fkey" FOREIGN KEY ("merchant_id") REFERENCES "merchants"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "cashiers" ADD CONSTRAINT "cashiers_branch_id_fkey" FOREIGN KEY ("branch_id") REFERENCES "branches"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "oauth_clients" ADD CONSTRAINT "oauth_clients_merchant_id_fkey" FOREIGN KEY ("merchant_id") REFERENCES "merchants"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "oauth_tokens" ADD CONSTRAINT "oauth_tokens_client_id_fkey" FOREIGN KEY ("client_id") REFERENCES "oauth_clients"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "devices" ADD CONSTRAINT "devices_merchant_id_fkey" FOREIGN KEY ("merchant_id") REFERENCES "merchants"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "devices" ADD CONSTRAINT "devices_branch_id_fkey" FOREIGN KEY ("branch_id") REFERENCES "branches"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "lanes" ADD CONSTRAINT "lanes_device_id_fkey" FOREIGN KEY ("device_id") REFERENCES "devices"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "products" ADD CONSTRAINT "products_merchant_id_fkey" FOREIGN KEY ("merchant_id") REFERENCES "merchants"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "attempts" ADD CONSTRAINT "attempts_receipt_id_fkey" FOREIGN KEY ("receipt_id") REFERENCES "receipts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "z_reports" ADD CONSTRAINT "z_reports_shift_id_fkey" FOREIGN KEY ("shift_id") REFERENCES "shifts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- ---------------------------------------------------------------------------------------------------------------------
-- What Prisma's schema language cannot say (docs/architecture.md lists it).

-- A receipt's place in its lane. CACHE 1: a session that cached places would hand out an early one late, and a receipt
-- answered before another's POST began would stand behind it.
CREATE SEQUENCE lane_place_seq AS bigint CACHE 1;

-- A receipt that waits or is at work has a place and a device; a registered one has what makes it fiscal.
ALTER TABLE receipts ADD CONSTRAINT receipts_in_lane_have_place
  CHECK (status NOT IN ('accepted', 'sending') OR (lane_place IS NOT NULL AND device_id IS NOT NULL));
ALTER TABLE receipts ADD CONSTRAINT receipts_registered_are_fiscal
  CHECK ((status = 'registered') = (receipt_seq IS NOT NULL AND terminal_id IS NOT NULL AND registered_at IS NOT NULL));

-- Rows grow once, when the register answers: leave room on the page for it.
ALTER TABLE receipts SET (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE attempts SET (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.05);

-- The audit trail only grows. The program role has no UPDATE and DELETE (prisma/grants.sql); the trigger stops the
-- owner's slips as well.
CREATE FUNCTION audit_records_only_grow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'audit_records is append-only' USING ERRCODE = 'insufficient_privilege';
END
$$;
CREATE TRIGGER audit_records_only_grow BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_records
  FOR EACH STATEMENT EXECUTE FUNCTION audit_records_only_grow();
