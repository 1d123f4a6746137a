DROP INDEX CONCURRENTLY "receipts_settled";
