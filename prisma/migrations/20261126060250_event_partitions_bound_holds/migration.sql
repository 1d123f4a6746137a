-- Nothing to do, where the migration before did not move the bound.
ALTER TABLE events VALIDATE CONSTRAINT events_in_first;

-- Months of events leave apart from those of deliveries: only to a known folder. Here, as the next migration has the table shut.
INSERT INTO partition_rounds (keeper) VALUES ('events');
