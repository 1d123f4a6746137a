DROP INDEX CONCURRENTLY "payments_not_compared";
