-- AlterTable
ALTER TABLE "database_identity" ADD COLUMN     "changed_at" TIMESTAMPTZ(6),
ADD COLUMN     "lanes_held_at" TIMESTAMPTZ(3),
ADD COLUMN     "lanes_held_by" TEXT;

-- AlterTable
ALTER TABLE "receipts" ADD COLUMN     "moved_from" TEXT[];

-- CreateTable
CREATE TABLE "restore_checks" (
    "id" BIGSERIAL NOT NULL,
    "device_id" TEXT NOT NULL,
    "receipt_id" TEXT,
    "attempt_id" TEXT,
    "method" TEXT NOT NULL,
    "verdict" TEXT,
    "evidence" JSONB,
    "restored_at" TIMESTAMPTZ(6) NOT NULL,
    "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "answered_at" TIMESTAMPTZ(3),
    "seen_at" TIMESTAMPTZ(3),

    CONSTRAINT "restore_checks_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "restore_checks_of_receipt" ON "restore_checks"("receipt_id") WHERE (receipt_id IS NOT NULL);

-- CreateIndex
CREATE INDEX "restore_checks_of_device" ON "restore_checks"("device_id");

-- CreateIndex
CREATE INDEX "restore_checks_due" ON "restore_checks"("due_at") WHERE (verdict IS NULL);

-- CreateIndex
CREATE UNIQUE INDEX "restore_checks_one_per_attempt" ON "restore_checks"("attempt_id", "device_id") WHERE (attempt_id IS NOT NULL);

-- CreateIndex
CREATE UNIQUE INDEX "restore_checks_one_per_device" ON "restore_checks"("device_id") WHERE (attempt_id IS NULL);

-- By hand: no other words than the relay's.
ALTER TABLE "restore_checks"
  ADD CONSTRAINT "restore_checks_words" CHECK (
    method IN ('key', 'counters') AND (verdict IS NULL OR verdict IN ('absent', 'present', 'unproven'))
    AND (attempt_id IS NULL) = (receipt_id IS NULL));
