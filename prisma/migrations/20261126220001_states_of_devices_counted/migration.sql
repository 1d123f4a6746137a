-- What is said of its column counts from now on.
SET LOCAL lock_timeout = '3s';
SET LOCAL statement_timeout = 0;
ANALYZE devices;
