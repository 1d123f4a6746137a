-- PostgreSQL logs of a new version of a row only what lies between the first and the last byte that differ from the version before, if
-- both are in one page. The columns of a receipt and of an attempt that change lay on both sides of the document and of the request,
-- so that each change logged them again. They are at the end now (docs/adr/0131-what-a-receipt-costs.md).
--
-- Only where there are no rows yet: to move columns of filled tables is to write them anew. There nothing changes; no program knows the
-- order of columns.
DO $$
BEGIN
  -- Asked before the lock as well: a filled table is not shut for nothing.
  IF EXISTS (SELECT FROM receipts) OR EXISTS (SELECT FROM attempts) THEN RETURN; END IF;
  LOCK TABLE receipts, attempts IN ACCESS EXCLUSIVE MODE;
  IF EXISTS (SELECT FROM receipts) OR EXISTS (SELECT FROM attempts) THEN RETURN; END IF;

  ALTER TABLE receipts DROP COLUMN document, ADD COLUMN document_last JSONB NOT NULL;
  ALTER TABLE receipts RENAME COLUMN document_last TO document;

  ALTER TABLE attempts
    DROP COLUMN baseline, DROP COLUMN request,
    ADD COLUMN baseline_last JSONB NOT NULL, ADD COLUMN request_last BYTEA NOT NULL;
  ALTER TABLE attempts RENAME COLUMN baseline_last TO baseline;
  ALTER TABLE attempts RENAME COLUMN request_last TO request;
END
$$;
