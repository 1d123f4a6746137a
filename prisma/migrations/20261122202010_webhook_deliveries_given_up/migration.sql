CREATE INDEX CONCURRENTLY "webhook_deliveries_given_up" ON "webhook_deliveries"("endpoint_id", "id") WHERE (state = 'failed'::delivery_state);
