-- How common a status or a type is PostgreSQL may not look up for a role that reads behind a policy, as enumerations are compared by a
-- function that is not leakproof. What it may use is how many values a column has, and of two it takes each to be half of the table. Told
-- that there are many, it takes a list of values for few rows and all but a few values for most of them (docs/adr/0193-rare-values.md).
-- A vacuum gives way to this lock after a second; no reader or writer waits for it, or behind who waits for it. Both before anything is written:
-- readers of events wait for a transaction that has a number.
SET LOCAL lock_timeout = '3s';
LOCK TABLE receipts, payments IN SHARE UPDATE EXCLUSIVE MODE;
ALTER TABLE receipts ALTER COLUMN status SET (n_distinct = 200), ALTER COLUMN type SET (n_distinct = 200);
ALTER TABLE payments ALTER COLUMN state SET (n_distinct = 200);
