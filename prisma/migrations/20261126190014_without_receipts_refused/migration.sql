DROP INDEX CONCURRENTLY "receipts_refused";
