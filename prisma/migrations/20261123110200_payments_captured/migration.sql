CREATE INDEX CONCURRENTLY "payments_captured" ON "payments"("account_id", "captured_at", "id") WHERE (captured_at IS NOT NULL);
