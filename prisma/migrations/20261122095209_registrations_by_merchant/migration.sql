-- One registration per terminal, sequence and merchant: what a false register of another merchant has registered is no longer
-- in the way. Of all merchants one holds a terminal (table terminals, migration terminals), so that a terminal still has one
-- lane. Nothing but indexes stands here: each new one is complete before the one that it replaces goes.
CREATE UNIQUE INDEX "receipts_one_per_registration_of_merchant" ON "receipts"("terminal_id", "receipt_seq", "merchant_id") WHERE (receipt_seq IS NOT NULL);
DROP INDEX "receipts_one_per_registration";

CREATE UNIQUE INDEX "devices_one_live_per_terminal_of_merchant" ON "devices"("terminal_id", "merchant_id") WHERE (deleted_at IS NULL AND terminal_id IS NOT NULL);
DROP INDEX "devices_one_live_per_terminal";

CREATE UNIQUE INDEX "shifts_one_per_number_of_merchant" ON "shifts"("terminal_id", "number", "merchant_id");
DROP INDEX "shifts_terminal_id_number_key";
