-- What is said of its columns counts from now on. By itself: it reads for some seconds, and has a number only when it writes.
SET LOCAL lock_timeout = '3s';
SET LOCAL statement_timeout = 0;
ANALYZE payments;
