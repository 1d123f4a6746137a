DROP INDEX CONCURRENTLY "receipts_other_than_sales";
