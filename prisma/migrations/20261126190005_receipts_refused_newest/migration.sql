CREATE INDEX CONCURRENTLY "receipts_refused_newest" ON "receipts"("merchant_id", "id") WHERE (status = ANY (ARRAY['rejected'::receipt_status, 'cancelled'::receipt_status]));
