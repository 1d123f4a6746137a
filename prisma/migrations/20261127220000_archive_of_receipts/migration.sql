-- CreateTable
CREATE TABLE "archived_receipts" (
    "id" TEXT NOT NULL,
    "merchant_id" TEXT NOT NULL,
    "client_id" TEXT NOT NULL,
    "operation" TEXT NOT NULL,
    "idempotency_key" TEXT,
    "external_id" TEXT,
    "body_hash" BYTEA NOT NULL,
    "refund_of" TEXT,
    "last_at" TIMESTAMPTZ(3) NOT NULL,
    "archive" TEXT NOT NULL,

    CONSTRAINT "archived_receipts_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "archived_receipts_merchant_id_last_at_idx" ON "archived_receipts"("merchant_id", "last_at");

-- CreateIndex
CREATE INDEX "archived_receipts_refunds_of" ON "archived_receipts"("refund_of") WHERE (refund_of IS NOT NULL);

-- AddForeignKey
ALTER TABLE "archived_receipts" ADD CONSTRAINT "archived_receipts_archive_fkey" FOREIGN KEY ("archive") REFERENCES "archives"("name") ON DELETE RESTRICT ON UPDATE CASCADE;

-- A row as it stands in an archive. The settings are part of it: its digest must not depend on the session.
CREATE FUNCTION receipt_line(r receipts) RETURNS text
  LANGUAGE sql STABLE
  SET "TimeZone" TO 'UTC' SET bytea_output TO 'hex' SET "DateStyle" TO 'ISO, YMD'
AS $$ SELECT to_jsonb(r)::text $$;

-- Whether nothing of a receipt by itself can still move: it is final, its OFD has it, its attempts have left, its money is where it stays. The
-- newest registration of its terminal stays, as registers are compared with it.
CREATE FUNCTION receipt_is_done(r receipts, before timestamptz) RETURNS boolean
  LANGUAGE sql STABLE
AS $$
  SELECT r.status IN ('registered', 'rejected', 'cancelled') AND r.ofd_status IS DISTINCT FROM 'pending'
     AND r.created_at < before AND r.updated_at < before
     AND NOT EXISTS (SELECT FROM attempts a WHERE a.receipt_id = r.id)
     AND (r.receipt_seq IS NULL
          OR EXISTS (SELECT FROM registration_claims c
                      WHERE c.terminal_id = r.terminal_id AND c.receipt_seq > r.receipt_seq AND c.merchant_id = r.merchant_id))
     AND NOT EXISTS (SELECT FROM payments p
                      WHERE p.id = r.payment_id
                        AND (p.state NOT IN ('captured', 'refunded', 'voided', 'declined', 'expired', 'cancelled')
                             OR p.state_since >= before OR p.due_at IS NOT NULL OR p.awaits_operator OR p.discrepancy IS NOT NULL
                             OR EXISTS (SELECT FROM payment_refunds f WHERE f.payment_id = p.id AND f.state IN ('waiting', 'requested'))
                             OR EXISTS (SELECT FROM extra_charges c WHERE c.payment_id = p.id AND c.finished_at IS NULL)))
$$;

-- Whether a receipt may leave the database: a sale and its refunds together, as what is left of a sale is counted from its refunds.
CREATE FUNCTION receipt_may_leave(r receipts, before timestamptz) RETURNS boolean
  LANGUAGE sql STABLE
AS $$
  SELECT receipt_is_done(r, before)
     AND NOT EXISTS (SELECT FROM receipts s WHERE s.id = r.refund_of AND NOT receipt_is_done(s, before))
     AND NOT EXISTS (SELECT FROM receipts f WHERE f.refund_of = coalesce(r.refund_of, r.id) AND NOT receipt_is_done(f, before))
$$;

-- Removes receipts that stand in an archive whose manifest is durable: the only way in which the programs remove one. For every caller: a row
-- that differs from what the archive holds stays, and so does what may not leave, or is younger than 395 days.
CREATE FUNCTION remove_archived_receipts(of_archive text, ids text[], digests text[]) RETURNS integer
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
  free text[];
  before CONSTANT timestamptz := now() - interval '395 days';
  sales integer;
  refunds integer;
BEGIN
  PERFORM FROM archives WHERE name = of_archive AND state = 'written' FOR SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'archive % is not written', of_archive USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  -- A refund that is being written holds its sale, which stays for now; one that has been written is seen by the statements below, and only by them.
  SELECT array_agg(l.id) INTO free FROM (
    SELECT r.id FROM receipts r WHERE r.id = ANY (ids) ORDER BY r.id FOR UPDATE SKIP LOCKED) l;
  -- What stays of a receipt comes first: by it the trigger of its removal leaves its claims alone.
  WITH leaving AS (
    SELECT r.id, r.merchant_id, r.client_id, r.operation, r.idempotency_key, r.external_id, r.body_hash, r.refund_of,
           coalesce(r.registered_at, r.created_at) AS last_at
      FROM unnest(ids, digests) AS w(id, digest) JOIN receipts r ON r.id = w.id
     WHERE r.id = ANY (free) AND r.refund_of IS NULL AND receipt_may_leave(r, before)
       AND encode(sha256(convert_to(receipt_line(r), 'UTF8')), 'hex') = w.digest
  ), kept AS (
    INSERT INTO archived_receipts (id, merchant_id, client_id, operation, idempotency_key, external_id, body_hash, refund_of, last_at, archive)
    SELECT l.*, of_archive FROM leaving l
    ON CONFLICT (id) DO UPDATE SET archive = EXCLUDED.archive, last_at = EXCLUDED.last_at
    RETURNING id
  ), gone AS (DELETE FROM receipts r USING kept WHERE r.id = kept.id RETURNING r.id)
  SELECT count(*) INTO sales FROM gone;
  -- Refunds follow their sale: of one that is here all of them are.
  WITH leaving AS (
    SELECT r.id, r.merchant_id, r.client_id, r.operation, r.idempotency_key, r.external_id, r.body_hash, r.refund_of,
           coalesce(r.registered_at, r.created_at) AS last_at
      FROM unnest(ids, digests) AS w(id, digest) JOIN receipts r ON r.id = w.id
     WHERE r.id = ANY (free) AND r.refund_of IS NOT NULL AND receipt_may_leave(r, before)
       AND NOT EXISTS (SELECT FROM receipts s WHERE s.id = r.refund_of)
       AND encode(sha256(convert_to(receipt_line(r), 'UTF8')), 'hex') = w.digest
  ), kept AS (
    INSERT INTO archived_receipts (id, merchant_id, client_id, operation, idempotency_key, external_id, body_hash, refund_of, last_at, archive)
    SELECT l.*, of_archive FROM leaving l
    ON CONFLICT (id) DO UPDATE SET archive = EXCLUDED.archive, last_at = EXCLUDED.last_at
    RETURNING id
  ), gone AS (DELETE FROM receipts r USING kept WHERE r.id = kept.id RETURNING r.id)
  SELECT count(*) INTO refunds FROM gone;
  RETURN sales + refunds;
END $$;
REVOKE EXECUTE ON FUNCTION remove_archived_receipts(text, text[], text[]) FROM PUBLIC;

-- As before, and of a receipt that has left for an archive its claims stay: nothing is sold twice.
CREATE OR REPLACE FUNCTION receipts_claims_follow() RETURNS trigger
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    TRUNCATE public.idempotency_claims, public.external_id_claims, public.registration_claims;
    RETURN NULL;
  END IF;
  -- Moved within its statement, into another partition or anew: it has found its own claims.
  IF TG_OP = 'DELETE' AND (EXISTS (SELECT FROM public.receipts r WHERE r.id = OLD.id)
                           OR EXISTS (SELECT FROM public.archived_receipts k WHERE k.id = OLD.id)) THEN
    RETURN NULL;
  END IF;
  DELETE FROM public.idempotency_claims c
   WHERE c.client_id = OLD.client_id AND c.operation = OLD.operation AND c.idempotency_key = OLD.idempotency_key AND c.receipt_id = OLD.id;
  DELETE FROM public.external_id_claims c
   WHERE c.merchant_id = OLD.merchant_id AND c.external_id = OLD.external_id AND c.receipt_id = OLD.id;
  DELETE FROM public.registration_claims c
   WHERE c.terminal_id = OLD.terminal_id AND c.receipt_seq = OLD.receipt_seq AND c.merchant_id = OLD.merchant_id AND c.receipt_id = OLD.id;
  IF TG_OP = 'UPDATE' THEN
    IF NEW.idempotency_key IS NOT NULL THEN
      INSERT INTO public.idempotency_claims (client_id, operation, idempotency_key, receipt_id)
      VALUES (NEW.client_id, NEW.operation, NEW.idempotency_key, NEW.id);
    END IF;
    IF NEW.external_id IS NOT NULL THEN
      INSERT INTO public.external_id_claims (merchant_id, external_id, receipt_id) VALUES (NEW.merchant_id, NEW.external_id, NEW.id);
    END IF;
    IF NEW.receipt_seq IS NOT NULL THEN
      INSERT INTO public.registration_claims (terminal_id, receipt_seq, merchant_id, receipt_id)
      VALUES (NEW.terminal_id, NEW.receipt_seq, NEW.merchant_id, NEW.id);
    END IF;
  END IF;
  RETURN NULL;
END $$;
