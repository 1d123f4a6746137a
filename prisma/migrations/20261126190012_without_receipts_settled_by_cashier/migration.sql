DROP INDEX CONCURRENTLY "receipts_settled_by_cashier";
