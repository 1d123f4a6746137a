CREATE INDEX CONCURRENTLY "emulated_payments_of_merchant" ON "emulated_payments"("merchant_id", "payment_id");
