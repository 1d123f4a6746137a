-- The indexes of the search once more, with conditions whose share of the table PostgreSQL can guess behind row-level security: what is common
-- as everything but a few values, what is rare as a list of them (docs/adr/0193-rare-values.md). This one, eight more, then the old
-- ones go, and at last it is said how many values there are.
CREATE INDEX CONCURRENTLY "receipts_at_rest" ON "receipts"("merchant_id", "id") WHERE (status <> ALL (ARRAY['awaiting_payment'::receipt_status, 'accepted'::receipt_status, 'sending'::receipt_status, 'unknown'::receipt_status]));
