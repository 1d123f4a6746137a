-- CreateIndex
CREATE INDEX "receipts_refunds_of" ON "receipts"("refund_of", "id") WHERE (refund_of IS NOT NULL);
