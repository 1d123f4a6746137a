-- The same in the order of registrations, for a span of them.
CREATE INDEX CONCURRENTLY "receipts_not_sales_by_registration" ON "receipts"("merchant_id", "registered_at", "id") WHERE (type = ANY (ARRAY['refund'::receipt_type, 'advance'::receipt_type, 'credit'::receipt_type]));
