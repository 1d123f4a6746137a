-- What a receipt's triggers say stays as it is; it is said in functions now. PostgreSQL copies the conditions of all triggers of a table for each part of a
-- statement that writes to it, and reads those that fire from their text, each time: 14 KB of receipts, an eighth of what a result costs that a lane
-- writes by itself. A function is kept ready by its session (docs/adr/0204-triggers-without-conditions.md).

-- First what waits for readers, too: nothing else is locked yet.
DROP TRIGGER receipts_fiscal_fields_stay ON receipts;
DROP TRIGGER receipts_recorded_fields_stay ON receipts;
DROP TRIGGER receipts_move_legally ON receipts;
DROP FUNCTION receipts_fiscal_fields_stay();
DROP FUNCTION receipts_move_legally();

-- A receipt moves along the legal pairs of libs/ledger/src/moves.ts, and what its register has answered is written once, whoever writes.
CREATE FUNCTION receipts_change_legally() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.status <> OLD.status AND NOT (CASE OLD.status
       WHEN 'awaiting_payment' THEN NEW.status IN ('accepted', 'registered', 'cancelled')
       WHEN 'accepted' THEN NEW.status IN ('sending', 'cancelled', 'registered', 'unknown', 'rejected')
       WHEN 'sending' THEN NEW.status IN ('registered', 'rejected', 'accepted', 'unknown')
       WHEN 'unknown' THEN NEW.status IN ('registered', 'accepted', 'rejected')
       ELSE false END)
  THEN
    RAISE EXCEPTION 'receipt % cannot move from % to %', OLD.id, OLD.status, NEW.status
      USING ERRCODE = 'integrity_constraint_violation', TABLE = 'receipts', CONSTRAINT = 'receipts_move_legally';
  END IF;
  -- Asked by itself, as most receipts that are written have nothing yet and are done here.
  IF num_nonnulls(OLD.terminal_id, OLD.receipt_seq, OLD.fiscal_sign, OLD.verification_url, OLD.evidence, OLD.registered_at, OLD.shift_number) = 0
     AND OLD.recorded_fields = '{}'
  THEN
    RETURN NEW;
  END IF;
  IF (OLD.terminal_id IS NOT NULL AND NEW.terminal_id IS DISTINCT FROM OLD.terminal_id)
     OR (OLD.receipt_seq IS NOT NULL AND NEW.receipt_seq IS DISTINCT FROM OLD.receipt_seq)
     OR (OLD.fiscal_sign IS NOT NULL AND NEW.fiscal_sign IS DISTINCT FROM OLD.fiscal_sign)
     OR (OLD.verification_url IS NOT NULL AND NEW.verification_url IS DISTINCT FROM OLD.verification_url)
     OR (OLD.evidence IS NOT NULL AND NEW.evidence IS DISTINCT FROM OLD.evidence)
     -- Where the counters were the proof the time was the attempt's; the link that a person reads later has the register's.
     OR (OLD.registered_at IS NOT NULL AND NEW.registered_at IS DISTINCT FROM OLD.registered_at
         AND NOT (OLD.evidence = 'counters' AND OLD.fiscal_sign IS NULL))
     OR (OLD.shift_number IS NOT NULL AND NEW.shift_number IS DISTINCT FROM OLD.shift_number)
     OR (OLD.recorded_fields <> '{}' AND NEW.recorded_fields IS DISTINCT FROM OLD.recorded_fields)
  THEN
    RAISE EXCEPTION 'the fiscal fields of receipt % are written and never change', OLD.id
      USING ERRCODE = 'integrity_constraint_violation', TABLE = 'receipts', CONSTRAINT = 'receipts_fiscal_fields_stay';
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER receipts_change_legally
  BEFORE UPDATE OF status, terminal_id, receipt_seq, fiscal_sign, verification_url, registered_at, evidence, recorded_fields, shift_number ON receipts
  FOR EACH ROW EXECUTE FUNCTION receipts_change_legally();

-- As in migration archive_of_receipts, with the condition of the trigger before it: nothing of the programs names these columns in an UPDATE.
CREATE OR REPLACE FUNCTION receipts_claims_follow() RETURNS trigger
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    TRUNCATE public.idempotency_claims, public.external_id_claims, public.registration_claims;
    RETURN NULL;
  END IF;
  IF TG_OP = 'UPDATE' AND (OLD.id, OLD.merchant_id, OLD.client_id, OLD.operation, OLD.idempotency_key, OLD.external_id)
                          IS NOT DISTINCT FROM (NEW.id, NEW.merchant_id, NEW.client_id, NEW.operation, NEW.idempotency_key, NEW.external_id) THEN
    RETURN NULL;
  END IF;
  -- Moved within its statement, into another partition or anew: it has found its own claims.
  IF TG_OP = 'DELETE' AND (EXISTS (SELECT FROM public.receipts r WHERE r.id = OLD.id)
                           OR EXISTS (SELECT FROM public.archived_receipts k WHERE k.id = OLD.id)) THEN
    RETURN NULL;
  END IF;
  DELETE FROM public.idempotency_claims c
   WHERE c.client_id = OLD.client_id AND c.operation = OLD.operation AND c.idempotency_key = OLD.idempotency_key AND c.receipt_id = OLD.id;
  DELETE FROM public.external_id_claims c
   WHERE c.merchant_id = OLD.merchant_id AND c.external_id = OLD.external_id AND c.receipt_id = OLD.id;
  DELETE FROM public.registration_claims c
   WHERE c.terminal_id = OLD.terminal_id AND c.receipt_seq = OLD.receipt_seq AND c.merchant_id = OLD.merchant_id AND c.receipt_id = OLD.id;
  IF TG_OP = 'UPDATE' THEN
    IF NEW.idempotency_key IS NOT NULL THEN
      INSERT INTO public.idempotency_claims (client_id, operation, idempotency_key, receipt_id)
      VALUES (NEW.client_id, NEW.operation, NEW.idempotency_key, NEW.id);
    END IF;
    IF NEW.external_id IS NOT NULL THEN
      INSERT INTO public.external_id_claims (merchant_id, external_id, receipt_id) VALUES (NEW.merchant_id, NEW.external_id, NEW.id);
    END IF;
    IF NEW.receipt_seq IS NOT NULL THEN
      INSERT INTO public.registration_claims (terminal_id, receipt_seq, merchant_id, receipt_id)
      VALUES (NEW.terminal_id, NEW.receipt_seq, NEW.merchant_id, NEW.id);
    END IF;
  END IF;
  RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER receipts_claims_move AFTER UPDATE OF id, merchant_id, client_id, operation, idempotency_key, external_id ON receipts
  FOR EACH ROW EXECUTE FUNCTION receipts_claims_follow();
