-- Reads both tables beside their writers, so that the next migration has nothing to read. A time beyond the bound, before the newest million
-- rows, is one of a database whose clock was ahead: it is set right by hand, and the migrations are run again.
ALTER TABLE payment_calls VALIDATE CONSTRAINT payment_calls_in_first;
ALTER TABLE provider_callbacks VALIDATE CONSTRAINT provider_callbacks_in_first;

-- Months of calls leave apart from those of deliveries: only to a known archive. Here, as the next migration has the tables shut.
INSERT INTO partition_rounds (keeper) VALUES ('payments');
