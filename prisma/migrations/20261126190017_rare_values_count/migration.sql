-- What the migration before says counts from now on. By itself: it reads for some seconds, and has a number only when it writes, as readers of events
-- wait for a transaction that has one.
SET LOCAL lock_timeout = '5min';
ANALYZE receipts, payments;
