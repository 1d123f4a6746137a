DROP INDEX CONCURRENTLY "receipts_one_per_registration";
