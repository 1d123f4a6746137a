-- The primary key of calls in partitions, of which the time, by which they are made, is part (20261127083600_payment_partitions).
CREATE UNIQUE INDEX CONCURRENTLY "payment_calls_id_started_at" ON "payment_calls"("id", "started_at");
