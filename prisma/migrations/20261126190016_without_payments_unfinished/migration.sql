DROP INDEX CONCURRENTLY "payments_unfinished";
