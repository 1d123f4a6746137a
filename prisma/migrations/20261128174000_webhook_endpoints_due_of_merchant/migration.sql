-- Receivers with something due by merchant: the gateway passes over those of a merchant that has its share of the places.
CREATE INDEX CONCURRENTLY "webhook_endpoints_due_of_merchant" ON "webhook_endpoints"("merchant_id", "due_at") WHERE (due_at IS NOT NULL);
