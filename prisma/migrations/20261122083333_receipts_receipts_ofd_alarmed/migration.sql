-- CreateIndex
CREATE INDEX CONCURRENTLY "receipts_ofd_alarmed" ON "receipts"("ofd_deadline_at") WHERE ((ofd_status = 'pending'::ofd_status) AND (ofd_alerts = 2));
