-- What a register has answered is law: it is written once. The programs' role may not delete receipts, attempts and events,
-- and may update only columns that move (prisma/grants.sql). Of the fiscal columns it has to write each once; the trigger
-- refuses a second value, to the owner as well. Its condition is judged without calling the function, and only by statements
-- that name one of these columns: moves between states alone do not pay for it.
--
-- A status cannot leave `registered` either: the check receipts_registered_are_fiscal ties it to these columns.
CREATE FUNCTION receipts_fiscal_fields_stay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the fiscal fields of receipt % are written and never change', OLD.id
    USING ERRCODE = 'integrity_constraint_violation';
END
$$;
CREATE TRIGGER receipts_fiscal_fields_stay
  BEFORE UPDATE OF terminal_id, receipt_seq, fiscal_sign, verification_url, registered_at, evidence ON receipts
  FOR EACH ROW WHEN (
    (OLD.terminal_id IS NOT NULL AND NEW.terminal_id IS DISTINCT FROM OLD.terminal_id)
    OR (OLD.receipt_seq IS NOT NULL AND NEW.receipt_seq IS DISTINCT FROM OLD.receipt_seq)
    OR (OLD.fiscal_sign IS NOT NULL AND NEW.fiscal_sign IS DISTINCT FROM OLD.fiscal_sign)
    OR (OLD.verification_url IS NOT NULL AND NEW.verification_url IS DISTINCT FROM OLD.verification_url)
    OR (OLD.evidence IS NOT NULL AND NEW.evidence IS DISTINCT FROM OLD.evidence)
    -- Where the counters were the proof the time was the attempt's; the link that a person reads later has the register's.
    OR (OLD.registered_at IS NOT NULL AND NEW.registered_at IS DISTINCT FROM OLD.registered_at
        AND NOT (OLD.evidence = 'counters' AND OLD.fiscal_sign IS NULL))
  )
  EXECUTE FUNCTION receipts_fiscal_fields_stay();

-- A registration that was recorded does not become another outcome.
CREATE FUNCTION attempts_registered_stay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'attempt % is registered and stays so', OLD.id USING ERRCODE = 'integrity_constraint_violation';
END
$$;
CREATE TRIGGER attempts_registered_stay BEFORE UPDATE OF state ON attempts
  FOR EACH ROW WHEN (OLD.state = 'registered' AND NEW.state <> 'registered')
  EXECUTE FUNCTION attempts_registered_stay();
