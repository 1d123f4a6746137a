CREATE INDEX CONCURRENTLY "payments_held" ON "payments"("compared_at", "state_since") WHERE (state = 'authorized'::payment_state);
