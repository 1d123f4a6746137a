-- In place of payment_calls_one_open_per_payment, which is unique over all months: that is a claim then (20261127083600_payment_partitions).
CREATE INDEX CONCURRENTLY "payment_calls_open" ON "payment_calls"("payment_id") WHERE (finished_at IS NULL);
