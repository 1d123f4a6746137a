CREATE UNIQUE INDEX CONCURRENTLY "devices_one_live_per_terminal_of_merchant" ON "devices"("terminal_id", "merchant_id") WHERE (deleted_at IS NULL AND terminal_id IS NOT NULL);
