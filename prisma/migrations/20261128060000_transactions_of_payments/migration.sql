-- A payment leaves for the archive with all of its transactions.
CREATE INDEX CONCURRENTLY "provider_transactions_of_payment" ON "provider_transactions"("payment_id");
