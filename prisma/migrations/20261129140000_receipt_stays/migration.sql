-- A person has said that the receipts of a payment stay although there is no money. Nothing writes it in the release before.
ALTER TABLE "payments" ADD COLUMN "receipt_kept_at" TIMESTAMPTZ(3);
