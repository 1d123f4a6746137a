-- Nothing to do, where the migration before did not move the bound.
ALTER TABLE payment_calls VALIDATE CONSTRAINT payment_calls_in_first;
