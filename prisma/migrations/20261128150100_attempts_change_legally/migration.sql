-- As receipts in the migration before: conditions stand in the functions; that of claims asks them already. What is deleted keeps its condition, which no
-- statement of a lane reads. In a migration of its own, as such a statement has both tables: this one must not wait for the second with the first in hand.
CREATE OR REPLACE FUNCTION attempts_move_legally() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.state = OLD.state OR (CASE OLD.state
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
CREATE OR REPLACE TRIGGER attempts_move_legally BEFORE UPDATE OF state ON attempts
  FOR EACH ROW EXECUTE FUNCTION attempts_move_legally();
CREATE OR REPLACE TRIGGER attempts_claimed AFTER INSERT ON attempts
  FOR EACH ROW EXECUTE FUNCTION claim_open_attempt();
CREATE OR REPLACE TRIGGER attempts_claim_moves AFTER UPDATE OF id, receipt_id, device_id, state, created_at ON attempts
  FOR EACH ROW EXECUTE FUNCTION claim_open_attempt();
