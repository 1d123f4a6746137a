-- Nothing to do, where the migration before did not move the bound.
ALTER TABLE events VALIDATE CONSTRAINT events_in_first;
