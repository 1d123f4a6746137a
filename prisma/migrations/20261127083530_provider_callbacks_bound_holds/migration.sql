-- Nothing to do, where the migration before did not move the bound.
ALTER TABLE provider_callbacks VALIDATE CONSTRAINT provider_callbacks_in_first;

-- Months of calls leave apart from those of deliveries: only to a known archive. Here, as the next migration has the tables shut.
INSERT INTO partition_rounds (keeper) VALUES ('payments');
