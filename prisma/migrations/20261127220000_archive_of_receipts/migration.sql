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
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "registered_at" TIMESTAMPTZ(3),
    "archive" TEXT NOT NULL,

    CONSTRAINT "archived_receipts_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "archived_receipts_merchant_id_created_at_idx" ON "archived_receipts"("merchant_id", "created_at");

-- CreateIndex
CREATE INDEX "archived_receipts_by_registration" ON "archived_receipts"("merchant_id", "registered_at") WHERE (registered_at IS NOT NULL);

-- CreateIndex
CREATE INDEX "archived_receipts_refunds_of" ON "archived_receipts"("refund_of") WHERE (refund_of IS NOT NULL);

-- AddForeignKey
ALTER TABLE "archived_receipts" ADD CONSTRAINT "archived_receipts_archive_fkey" FOREIGN KEY ("archive") REFERENCES "archives"("name") ON DELETE RESTRICT ON UPDATE CASCADE;

-- A row as it stands in an archive. The settings are part of it: its digest must not depend on the session.
CREATE FUNCTION receipt_line(r receipts) RETURNS text
  LANGUAGE sql STABLE
  SET "TimeZone" TO 'UTC' SET bytea_output TO 'hex' SET "DateStyle" TO 'ISO, YMD'
AS $$ SELECT to_jsonb(r)::text $$;

-- Which of these receipts may leave the database, each with its refunds: nothing of them can still move (final, the OFD has it, its attempts have left,
-- no message of it is to be sent), and no money hangs on them: payments are judged by their receipts. The newest registration of a terminal stays, as
-- registers are compared with it, and what has so many refunds that they are too much for one statement. By keys alone, whatever a planner
-- thinks of the tables: of some hundred rows at a time.
CREATE FUNCTION receipts_that_may_leave(ids text[], before timestamptz) RETURNS SETOF text
  LANGUAGE plpgsql STABLE
  SET search_path = pg_catalog, public, pg_temp SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
  most_refunds CONSTANT integer := 200;
BEGIN
  RETURN QUERY
    WITH asked AS MATERIALIZED (
      SELECT r.id FROM receipts r WHERE r.id = ANY (ids)
    ), refunds AS MATERIALIZED (
      SELECT a.id AS of, f.id AS member
        FROM asked a CROSS JOIN LATERAL (SELECT f.id FROM receipts f WHERE f.refund_of = a.id LIMIT most_refunds + 1) f
    ), staying AS MATERIALIZED (
      SELECT y.of FROM (SELECT a.id AS of, a.id AS member FROM asked a UNION ALL SELECT * FROM refunds) y JOIN receipts r ON r.id = y.member
       WHERE r.status NOT IN ('registered', 'rejected', 'cancelled') OR r.ofd_status IS NOT DISTINCT FROM 'pending' OR r.payment_id IS NOT NULL
          OR r.created_at >= before OR r.updated_at >= before
          OR EXISTS (SELECT FROM attempts t WHERE t.receipt_id = r.id)
          OR (y.member <> y.of AND EXISTS (SELECT FROM receipts w WHERE w.refund_of = r.id))
          OR EXISTS (SELECT FROM messages m WHERE m.receipt_id = r.id AND m.state IN ('pending', 'sending', 'unclear'))
          OR (r.receipt_seq IS NOT NULL
              AND NOT EXISTS (SELECT FROM registration_claims c
                               WHERE c.terminal_id = r.terminal_id AND c.receipt_seq > r.receipt_seq AND c.merchant_id = r.merchant_id))
      UNION ALL
      SELECT f.of FROM refunds f GROUP BY f.of HAVING count(*) > most_refunds
    )
    SELECT a.id FROM asked a WHERE a.id NOT IN (SELECT y.of FROM staying y);
END $$;

-- Removes receipts that stand in an archive whose manifest is durable: the only way in which the programs remove one. For every caller: a row
-- that differs from what the archive holds stays, and so does what may not leave, or is younger than 395 days; and a sale leaves with all of
-- its refunds, in one transaction, or none of them does.
CREATE FUNCTION remove_archived_receipts(of_archive text, ids text[], digests text[]) RETURNS integer
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
  free text[];
  due text[];
  sales text[];
  refunds text[];
  removed integer;
BEGIN
  PERFORM FROM archives WHERE name = of_archive AND state = 'written' FOR SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'archive % is not written', of_archive USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  -- A refund that is being written holds its sale, which stays for now; one that has been written is seen by the statements below. From here on none is.
  free := ARRAY(SELECT l.id FROM (SELECT r.id FROM receipts r WHERE r.id = ANY (ids) ORDER BY r.id FOR UPDATE SKIP LOCKED) l);
  due := ARRAY(SELECT r.id FROM unnest(ids, digests) AS w(id, digest) JOIN receipts r ON r.id = w.id
                WHERE r.id = ANY (ARRAY(SELECT receipts_that_may_leave(free, now() - interval '395 days')))
                  AND encode(sha256(convert_to(receipt_line(r), 'UTF8')), 'hex') = w.digest);
  sales := ARRAY(SELECT r.id FROM receipts r
                  WHERE r.id = ANY (due) AND r.refund_of IS NULL
                    AND NOT EXISTS (SELECT FROM receipts f WHERE f.refund_of = r.id AND f.id <> ALL (due)));
  refunds := ARRAY(SELECT r.id FROM receipts r
                    WHERE r.id = ANY (due) AND r.refund_of IS NOT NULL
                      AND (r.refund_of = ANY (sales) OR NOT EXISTS (SELECT FROM receipts s WHERE s.id = r.refund_of)));
  -- What stays of a receipt comes first: by it the trigger of its removal leaves its claims alone.
  WITH kept AS (
    INSERT INTO archived_receipts (id, merchant_id, client_id, operation, idempotency_key, external_id, body_hash, refund_of, created_at,
                                   registered_at, archive)
    SELECT r.id, r.merchant_id, r.client_id, r.operation, r.idempotency_key, r.external_id, r.body_hash, r.refund_of, r.created_at,
           r.registered_at, of_archive
      FROM receipts r WHERE r.id = ANY (sales || refunds)
    ON CONFLICT (id) DO UPDATE SET archive = EXCLUDED.archive, registered_at = EXCLUDED.registered_at
    RETURNING id
  ), gone AS (DELETE FROM receipts r USING kept WHERE r.id = kept.id RETURNING r.id)
  SELECT count(*) INTO removed FROM gone;
  RETURN removed;
END $$;
REVOKE EXECUTE ON FUNCTION remove_archived_receipts(text, text[], text[]) FROM PUBLIC;

-- Which of these rows have left with this archive and with no newer one. They are held until the caller's transaction ends, and a removal for another
-- archive that is under way is waited for: what comes back is never older than what has left.
CREATE FUNCTION rows_of_archive(of_table text, of_archive text, ids text[]) RETURNS text[]
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
  IF of_table = 'attempts' THEN
    RETURN ARRAY(SELECT h.id FROM (SELECT k.id FROM archived_attempts k WHERE k.id = ANY (ids) AND k.archive = of_archive ORDER BY k.id FOR SHARE) h);
  ELSIF of_table = 'receipts' THEN
    RETURN ARRAY(SELECT h.id FROM (SELECT k.id FROM archived_receipts k WHERE k.id = ANY (ids) AND k.archive = of_archive ORDER BY k.id FOR SHARE) h);
  END IF;
  RAISE EXCEPTION 'rows of % do not leave one by one', of_table;
END $$;
REVOKE EXECUTE ON FUNCTION rows_of_archive(text, text, text[]) FROM PUBLIC;

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

-- As before, and attempts that were brought back without their receipt may leave again.
CREATE OR REPLACE FUNCTION attempt_may_leave(a attempts, before timestamptz) RETURNS boolean
  LANGUAGE sql STABLE
AS $$
  SELECT a.state IN ('registered', 'rejected', 'not_registered') AND a.created_at < before AND a.closed_at < before
     AND (EXISTS (SELECT FROM receipts r
                   WHERE r.id = a.receipt_id AND r.status IN ('registered', 'rejected', 'cancelled') AND r.updated_at < before
                     AND r.ofd_status IS DISTINCT FROM 'pending')
          OR (EXISTS (SELECT FROM archived_receipts k WHERE k.id = a.receipt_id)
              AND NOT EXISTS (SELECT FROM receipts r WHERE r.id = a.receipt_id)))
     AND NOT EXISTS (SELECT FROM receipts f
                      WHERE f.refund_of = a.receipt_id AND f.status NOT IN ('registered', 'rejected', 'cancelled'))
     AND NOT EXISTS (SELECT FROM attempts o
                      WHERE o.receipt_id = a.receipt_id AND o.state NOT IN ('registered', 'rejected', 'not_registered'))
     AND EXISTS (SELECT FROM attempts n WHERE n.device_id = a.device_id AND n.id > a.id AND n.state <> 'open')
$$;
