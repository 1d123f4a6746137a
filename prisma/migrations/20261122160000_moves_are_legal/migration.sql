-- The second lock behind the statements of libs/ledger: whoever writes, the owner in psql included, moves a receipt, an attempt or a
-- payment along the legal pairs of libs/ledger/src/moves.ts, or not at all (docs/adr/0061-one-ledger.md).
--
-- The conditions of the triggers are short on purpose: PostgreSQL reads a condition anew for each statement, and a function is
-- kept ready by its session. What is not a move calls nothing.

-- attempts_move_legally says of all states what it said of one. First, because it alone waits for readers, too: nothing else is locked yet.
DROP TRIGGER attempts_registered_stay ON attempts;
DROP FUNCTION attempts_registered_stay();

CREATE FUNCTION receipts_move_legally() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (CASE OLD.status
       WHEN 'awaiting_payment' THEN NEW.status IN ('accepted', 'registered', 'cancelled')
       WHEN 'accepted' THEN NEW.status IN ('sending', 'cancelled', 'registered', 'unknown', 'rejected')
       WHEN 'sending' THEN NEW.status IN ('registered', 'rejected', 'accepted', 'unknown')
       WHEN 'unknown' THEN NEW.status IN ('registered', 'accepted', 'rejected')
       ELSE false END)
  THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'receipt % cannot move from % to %', OLD.id, OLD.status, NEW.status
    USING ERRCODE = 'integrity_constraint_violation', TABLE = 'receipts', CONSTRAINT = 'receipts_move_legally';
END
$$;
CREATE TRIGGER receipts_move_legally BEFORE UPDATE OF status ON receipts
  FOR EACH ROW WHEN (NEW.status <> OLD.status) EXECUTE FUNCTION receipts_move_legally();

CREATE FUNCTION attempts_move_legally() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (CASE OLD.state
       WHEN 'open' THEN NEW.state IN ('registered', 'rejected', 'not_registered', 'unknown')
       WHEN 'unknown' THEN NEW.state IN ('registered', 'not_registered')
       WHEN 'not_registered' THEN NEW.state IN ('unknown')
       ELSE false END)
  THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'attempt % cannot move from % to %', OLD.id, OLD.state, NEW.state
    USING ERRCODE = 'integrity_constraint_violation', TABLE = 'attempts', CONSTRAINT = 'attempts_move_legally';
END
$$;
CREATE TRIGGER attempts_move_legally BEFORE UPDATE OF state ON attempts
  FOR EACH ROW WHEN (NEW.state <> OLD.state) EXECUTE FUNCTION attempts_move_legally();

CREATE FUNCTION payments_move_legally() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (CASE OLD.state
       WHEN 'created' THEN NEW.state IN ('pending', 'authorizing', 'declined', 'expired', 'cancelled')
       WHEN 'pending' THEN NEW.state IN ('reserved', 'authorizing', 'authorized', 'captured', 'voiding', 'refunded',
                                   'declined', 'expired', 'cancelled', 'manual')
       WHEN 'reserved' THEN NEW.state IN ('pending', 'captured', 'refunded', 'voided', 'declined', 'expired', 'cancelled', 'manual')
       WHEN 'authorizing' THEN NEW.state IN ('created', 'pending', 'authorized', 'captured', 'declined', 'authorize_unknown', 'manual')
       WHEN 'authorize_unknown' THEN NEW.state IN ('pending', 'authorized', 'captured', 'declined', 'voided', 'refunded', 'manual')
       WHEN 'authorized' THEN NEW.state IN ('capturing', 'captured', 'voiding', 'voided', 'manual')
       WHEN 'capturing' THEN NEW.state IN ('authorized', 'captured', 'capture_unknown', 'capture_refused', 'voided', 'manual')
       WHEN 'capture_unknown' THEN NEW.state IN ('authorized', 'captured', 'capture_refused', 'voided', 'manual')
       WHEN 'capture_refused' THEN NEW.state IN ('voiding', 'voided', 'manual')
       WHEN 'captured' THEN NEW.state IN ('refunding', 'refunded', 'manual')
       WHEN 'voiding' THEN NEW.state IN ('authorized', 'pending', 'capture_refused', 'captured', 'voided', 'void_unknown', 'manual')
       WHEN 'void_unknown' THEN NEW.state IN ('authorized', 'pending', 'captured', 'voided', 'manual')
       WHEN 'refunding' THEN NEW.state IN ('captured', 'refunded', 'refund_unknown', 'manual')
       WHEN 'refund_unknown' THEN NEW.state IN ('captured', 'refunded', 'manual')
       WHEN 'manual' THEN NEW.state IN ('captured', 'refunded', 'voided', 'declined')
       WHEN 'voided' THEN NEW.state IN ('captured', 'authorized')
       WHEN 'declined' THEN NEW.state IN ('captured', 'authorized')
       WHEN 'expired' THEN NEW.state IN ('captured', 'authorized')
       WHEN 'cancelled' THEN NEW.state IN ('captured', 'authorized')
       ELSE false END)
  THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'payment % cannot move from % to %', OLD.id, OLD.state, NEW.state
    USING ERRCODE = 'integrity_constraint_violation', TABLE = 'payments', CONSTRAINT = 'payments_move_legally';
END
$$;
CREATE TRIGGER payments_move_legally BEFORE UPDATE OF state ON payments
  FOR EACH ROW WHEN (NEW.state <> OLD.state) EXECUTE FUNCTION payments_move_legally();

CREATE FUNCTION payment_refunds_move_legally() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (CASE OLD.state
       WHEN 'waiting' THEN NEW.state IN ('done')
       WHEN 'requested' THEN NEW.state IN ('done')
       ELSE false END)
  THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'refund of a payment % cannot move from % to %', OLD.id, OLD.state, NEW.state
    USING ERRCODE = 'integrity_constraint_violation', TABLE = 'payment_refunds', CONSTRAINT = 'payment_refunds_move_legally';
END
$$;
CREATE TRIGGER payment_refunds_move_legally BEFORE UPDATE OF state ON payment_refunds
  FOR EACH ROW WHEN (NEW.state <> OLD.state) EXECUTE FUNCTION payment_refunds_move_legally();
