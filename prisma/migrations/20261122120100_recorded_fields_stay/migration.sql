-- What the register said about its document is written once, as the other fiscal fields are (migration fiscal_fields_stay).
CREATE TRIGGER receipts_recorded_fields_stay BEFORE UPDATE OF recorded_fields, shift_number ON receipts
  FOR EACH ROW WHEN (
    (OLD.shift_number IS NOT NULL AND NEW.shift_number IS DISTINCT FROM OLD.shift_number)
    OR (OLD.recorded_fields <> '{}' AND NEW.recorded_fields IS DISTINCT FROM OLD.recorded_fields)
  )
  EXECUTE FUNCTION receipts_fiscal_fields_stay();
