-- CreateIndex
CREATE INDEX "webhook_deliveries_finished" ON "webhook_deliveries"("finished_at") WHERE (state <> 'pending'::delivery_state);
