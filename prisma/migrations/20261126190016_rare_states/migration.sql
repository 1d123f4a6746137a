-- As with receipts (20261126190007_rare_values).
ALTER TABLE payments ALTER COLUMN state SET (n_distinct = 200);
ANALYZE payments;
