-- The primary key of providers' calls in partitions, of which the time, by which they are made, is part (20261127083600_payment_partitions).
CREATE UNIQUE INDEX CONCURRENTLY "provider_callbacks_id_received_at" ON "provider_callbacks"("id", "received_at");
