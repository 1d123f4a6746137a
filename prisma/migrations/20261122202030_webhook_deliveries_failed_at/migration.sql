CREATE INDEX CONCURRENTLY "webhook_deliveries_failed_at" ON "webhook_deliveries"("endpoint_id", "finished_at") WHERE (state = 'failed'::delivery_state);
