CREATE INDEX CONCURRENTLY "receipts_not_sales" ON "receipts"("merchant_id", "id") WHERE (type = ANY (ARRAY['refund'::receipt_type, 'advance'::receipt_type, 'credit'::receipt_type]));
