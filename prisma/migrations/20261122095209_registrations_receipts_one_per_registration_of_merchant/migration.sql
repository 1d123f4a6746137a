-- One registration per terminal, sequence and merchant: what a false register of another merchant has registered is no longer
-- in the way. Of all merchants one holds a terminal (table terminals, migration terminals), so that a terminal still has one
-- lane. Nothing but indexes stands here: each new one is complete before the one that it replaces goes.
CREATE UNIQUE INDEX CONCURRENTLY "receipts_one_per_registration_of_merchant" ON "receipts"("terminal_id", "receipt_seq", "merchant_id") WHERE (receipt_seq IS NOT NULL);
