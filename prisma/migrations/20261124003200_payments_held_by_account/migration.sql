CREATE INDEX CONCURRENTLY "payments_held_by_account" ON "payments"("account_id", "compared_at", "state_since") WHERE (state = 'authorized'::payment_state);
