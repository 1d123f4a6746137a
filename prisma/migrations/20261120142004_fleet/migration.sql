-- CreateEnum
CREATE TYPE "device_transport" AS ENUM ('http', 'link');

-- CreateEnum
CREATE TYPE "device_task_state" AS ENUM ('waiting', 'running', 'done');

-- AlterTable
ALTER TABLE "branches" ADD COLUMN     "archived_at" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "devices" ADD COLUMN     "business" JSONB,
ADD COLUMN     "close_at" TEXT,
ADD COLUMN     "draining_since" TIMESTAMPTZ(3),
ADD COLUMN     "group_id" TEXT,
ADD COLUMN     "model" TEXT NOT NULL DEFAULT '',
ADD COLUMN     "poll_due_at" TIMESTAMPTZ(3),
ADD COLUMN     "reading" JSONB,
ADD COLUMN     "reading_at" TIMESTAMPTZ(3),
ADD COLUMN     "registered_at" TIMESTAMPTZ(3) DEFAULT CURRENT_TIMESTAMP,
ADD COLUMN     "resend_due_at" TIMESTAMPTZ(3),
ADD COLUMN     "state_since" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
ADD COLUMN     "transport" "device_transport" NOT NULL DEFAULT 'http',
ALTER COLUMN "base_url" DROP NOT NULL;

-- AlterTable
ALTER TABLE "z_reports" ADD COLUMN     "difference" JSONB,
ADD COLUMN     "own" JSONB;

-- CreateTable
CREATE TABLE "device_groups" (
    "id" TEXT NOT NULL,
    "merchant_id" TEXT NOT NULL,
    "code" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "default_device_id" TEXT,
    "archived_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "device_groups_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "device_tasks" (
    "id" TEXT NOT NULL,
    "device_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "params" JSONB NOT NULL DEFAULT '{}',
    "state" "device_task_state" NOT NULL DEFAULT 'waiting',
    "actor" TEXT NOT NULL,
    "relay_id" TEXT,
    "lease_until" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "result" JSONB,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "device_tasks_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "link_keys" (
    "id" TEXT NOT NULL,
    "device_id" TEXT NOT NULL,
    "public_key" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "revoked_at" TIMESTAMPTZ(3),

    CONSTRAINT "link_keys_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "link_enrolments" (
    "code_hash" BYTEA NOT NULL,
    "device_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "used_at" TIMESTAMPTZ(3),

    CONSTRAINT "link_enrolments_pkey" PRIMARY KEY ("code_hash")
);

-- CreateTable
CREATE TABLE "link_presences" (
    "device_id" TEXT NOT NULL,
    "relay_id" TEXT NOT NULL,
    "relay_url" TEXT NOT NULL,
    "epoch" BIGINT NOT NULL,
    "connected_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "link_presences_pkey" PRIMARY KEY ("device_id")
);

-- CreateIndex
CREATE UNIQUE INDEX "device_groups_merchant_id_code_key" ON "device_groups"("merchant_id", "code");

-- CreateIndex
CREATE INDEX "device_tasks_unfinished" ON "device_tasks"("created_at") WHERE (state <> 'done'::device_task_state);

-- CreateIndex
CREATE INDEX "device_tasks_device_id_created_at_idx" ON "device_tasks"("device_id", "created_at");

-- CreateIndex
CREATE UNIQUE INDEX "link_keys_public_key_key" ON "link_keys"("public_key");

-- CreateIndex
CREATE UNIQUE INDEX "link_keys_one_live_per_device" ON "link_keys"("device_id") WHERE (revoked_at IS NULL);

-- CreateIndex
CREATE INDEX "link_enrolments_device_id_idx" ON "link_enrolments"("device_id");

-- CreateIndex
CREATE INDEX "link_presences_relay_id_idx" ON "link_presences"("relay_id");

-- CreateIndex
CREATE INDEX "devices_group_id_idx" ON "devices"("group_id") WHERE (group_id IS NOT NULL);

-- CreateIndex
CREATE INDEX "devices_poll_due" ON "devices"("poll_due_at") WHERE (deleted_at IS NULL);

-- CreateIndex
CREATE INDEX "devices_resend_due" ON "devices"("resend_due_at") WHERE (deleted_at IS NULL AND resend_due_at IS NOT NULL);

-- CreateIndex
CREATE INDEX "receipts_unsent" ON "receipts"("device_id", "ofd_deadline_at") WHERE (ofd_status = 'pending'::ofd_status);

-- CreateIndex
CREATE INDEX "z_reports_unsent" ON "z_reports"("shift_id") WHERE (ofd_status = 'pending'::ofd_status);

-- AddForeignKey
ALTER TABLE "device_groups" ADD CONSTRAINT "device_groups_merchant_id_fkey" FOREIGN KEY ("merchant_id") REFERENCES "merchants"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "devices" ADD CONSTRAINT "devices_group_id_fkey" FOREIGN KEY ("group_id") REFERENCES "device_groups"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "device_tasks" ADD CONSTRAINT "device_tasks_device_id_fkey" FOREIGN KEY ("device_id") REFERENCES "devices"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "link_keys" ADD CONSTRAINT "link_keys_device_id_fkey" FOREIGN KEY ("device_id") REFERENCES "devices"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- A register is called at its address, or dials in: never both, never neither.
ALTER TABLE "devices" ADD CONSTRAINT "devices_address_fits_transport"
  CHECK (("transport" = 'http') = ("base_url" IS NOT NULL));
ALTER TABLE "devices" ADD CONSTRAINT "devices_close_at_is_a_time"
  CHECK ("close_at" ~ '^([01][0-9]|2[0-3]):[0-5][0-9]$');
