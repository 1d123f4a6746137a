-- AlterTable
ALTER TABLE "devices" ADD COLUMN     "close_due_at" TIMESTAMPTZ(3),
ADD COLUMN     "poll_failures" INTEGER NOT NULL DEFAULT 0;

-- AlterTable
ALTER TABLE "receipts" ADD COLUMN     "ofd_alerts" SMALLINT NOT NULL DEFAULT 0;

-- CreateIndex
CREATE INDEX "devices_close_due" ON "devices"("close_due_at") WHERE (deleted_at IS NULL AND close_due_at IS NOT NULL);

-- CreateIndex
CREATE INDEX "receipts_ofd_alerts" ON "receipts"("ofd_alerts", "ofd_deadline_at") WHERE (ofd_status = 'pending'::ofd_status AND ofd_alerts < 2);

-- CreateIndex
CREATE INDEX "z_reports_not_compared" ON "z_reports"("shift_id") WHERE (own IS NULL);
