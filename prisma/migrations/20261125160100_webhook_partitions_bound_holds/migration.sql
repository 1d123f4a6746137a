-- Reads both tables beside their writers, so that the next migration has nothing to read.
ALTER TABLE webhook_deliveries VALIDATE CONSTRAINT webhook_deliveries_in_first;
ALTER TABLE webhook_attempts VALIDATE CONSTRAINT webhook_attempts_in_first;
