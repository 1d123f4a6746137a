-- CreateIndex
CREATE INDEX CONCURRENTLY "provider_callbacks_of_payment" ON "provider_callbacks"("payment_id") WHERE (payment_id IS NOT NULL);
