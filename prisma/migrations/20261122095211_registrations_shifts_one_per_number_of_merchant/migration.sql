CREATE UNIQUE INDEX CONCURRENTLY "shifts_one_per_number_of_merchant" ON "shifts"("terminal_id", "number", "merchant_id");
