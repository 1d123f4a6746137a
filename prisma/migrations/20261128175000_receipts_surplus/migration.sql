CREATE INDEX "receipts_surplus" ON "receipts"("merchant_id") WHERE (operation = 'surplus'::text);
