-- Of a merchant's receivers those that it has made: who plans deliveries passes over receivers of callbacks, of which there is one for each origin.
CREATE INDEX CONCURRENTLY "webhook_endpoints_of_merchant" ON "webhook_endpoints"("merchant_id", "id") WHERE ((kind = 'endpoint'::webhook_kind) AND (deleted_at IS NULL));
