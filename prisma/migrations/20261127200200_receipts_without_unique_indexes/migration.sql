-- contract: 20261127200000_receipt_claims
DROP TRIGGER receipts_already_there ON receipts;
DROP FUNCTION receipts_already_there();
DROP PROCEDURE fill_receipt_claims();
DROP TABLE receipt_claims_filled;
-- Where no receipt is yet, no program of the release before looks one up: the unique indexes go at once. Elsewhere such programs read by them until
-- they are replaced, and the next release takes them away.
DO $$
BEGIN
  IF EXISTS (SELECT FROM receipts) THEN
    RETURN;
  END IF;
  LOCK TABLE receipts IN ACCESS EXCLUSIVE MODE;
  IF NOT EXISTS (SELECT FROM receipts) THEN
    DROP INDEX receipts_one_per_key, receipts_one_per_external_id, receipts_one_per_registration_of_merchant;
  END IF;
END $$;
