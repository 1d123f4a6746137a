-- What waits for a person, by merchant: the list of it asks neither what others have nor what of the merchant is on its way.
CREATE INDEX "receipts_unknown" ON "receipts"("merchant_id", "id") WHERE (status = 'unknown'::receipt_status);
