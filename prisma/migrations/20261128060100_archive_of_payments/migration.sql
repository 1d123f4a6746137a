-- CreateTable
CREATE TABLE "archived_payments" (
    "id" TEXT NOT NULL,
    "merchant_id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "provider_ref" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "captured_at" TIMESTAMPTZ(3),
    "archive" TEXT NOT NULL,

    CONSTRAINT "archived_payments_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "archived_payments_merchant_id_created_at_idx" ON "archived_payments"("merchant_id", "created_at");

-- CreateIndex
CREATE INDEX "archived_payments_account_id_created_at_idx" ON "archived_payments"("account_id", "created_at");

-- CreateIndex
CREATE INDEX "archived_payments_by_capture" ON "archived_payments"("account_id", "captured_at") WHERE (captured_at IS NOT NULL);

-- CreateIndex
CREATE INDEX "archived_payments_by_provider_ref" ON "archived_payments"("account_id", "provider_ref") WHERE (provider_ref IS NOT NULL);

-- AddForeignKey
ALTER TABLE "archived_payments" ADD CONSTRAINT "archived_payments_archive_fkey" FOREIGN KEY ("archive") REFERENCES "archives"("name") ON DELETE RESTRICT ON UPDATE CASCADE;

-- Which of these receipts can leave as far as they themselves go, each with its refunds: nothing of them can still move (final, the OFD has it, its
-- attempts have left, no message of it is to be sent). As `receipts_that_may_leave` judged before, but for payments. The newest registration of a terminal
-- stays, as registers are compared with it, and what has so many refunds that they are too much for one statement. By keys alone, whatever a planner
-- thinks of the tables: of some hundred rows at a time.
CREATE FUNCTION receipts_at_rest(ids text[], before timestamptz) RETURNS SETOF text
  LANGUAGE plpgsql STABLE
  SET search_path = pg_catalog, public, pg_temp SET plan_cache_mode = force_generic_plan SET jit = off
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
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
       WHERE r.status NOT IN ('registered', 'rejected', 'cancelled') OR r.ofd_status IS NOT DISTINCT FROM 'pending'
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

-- Which of these receipts may leave by themselves. Those of a payment leave with it.
CREATE OR REPLACE FUNCTION receipts_that_may_leave(ids text[], before timestamptz) RETURNS SETOF text
  LANGUAGE plpgsql STABLE
  SET search_path = pg_catalog, public, pg_temp SET plan_cache_mode = force_generic_plan SET jit = off
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
BEGIN
  RETURN QUERY
    SELECT r.id FROM receipts r
     WHERE r.id = ANY (ARRAY(SELECT receipts_at_rest(ids, before))) AND r.payment_id IS NULL;
END $$;

-- The sales of a payment.
CREATE FUNCTION sales_of_payment(p payments) RETURNS text[]
  LANGUAGE sql IMMUTABLE
AS $$ SELECT array_prepend(p.receipt_id, p.further_receipts) $$;

-- Which of these payments may leave, each with its receipts and all that hangs on it: it has ended and waits for no worker, no person, no refund and no
-- charge; what was taken is registered; and each of its sales, with its refunds, can leave. One with so many refunds that they are too much for one line stays.
CREATE FUNCTION payments_that_may_leave(ids text[], before timestamptz) RETURNS SETOF text
  LANGUAGE plpgsql STABLE
  SET search_path = pg_catalog, public, pg_temp SET plan_cache_mode = force_generic_plan SET jit = off
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
  most_refunds CONSTANT integer := 200;
BEGIN
  RETURN QUERY
    WITH asked AS MATERIALIZED (
      SELECT p.id, p.state, sales_of_payment(p) AS sales FROM payments p
       WHERE p.id = ANY (ids)
         AND p.state IN ('captured', 'voided', 'refunded', 'declined', 'expired', 'cancelled')
         AND p.due_at IS NULL AND NOT p.awaits_operator AND p.discrepancy IS NULL AND (p.lease_until IS NULL OR p.lease_until < before)
         AND p.created_at < before AND p.state_since < before AND p.updated_at < before AND (p.hinted_at IS NULL OR p.hinted_at < before)
         AND NOT EXISTS (SELECT FROM payment_refunds f WHERE f.payment_id = p.id AND f.state IN ('waiting', 'requested'))
         AND NOT EXISTS (SELECT FROM extra_charges c WHERE c.payment_id = p.id AND (c.finished_at IS NULL OR c.finished_at >= before))
         AND NOT EXISTS (SELECT FROM provider_transactions t WHERE t.payment_id = p.id AND t.is_live AND t.state = 1)
    ), resting AS MATERIALIZED (
      SELECT r.id FROM receipts_at_rest(ARRAY(SELECT unnest(a.sales) FROM asked a), before) AS r(id)
    )
    SELECT a.id FROM asked a
     WHERE NOT EXISTS (SELECT FROM unnest(a.sales) AS s(id) WHERE s.id NOT IN (SELECT r.id FROM resting r))
       AND (SELECT count(*) FROM (SELECT FROM receipts f WHERE f.refund_of = ANY (a.sales) LIMIT most_refunds + 1) m) <= most_refunds
       AND (a.state <> 'captured' OR NOT EXISTS (SELECT FROM receipts r WHERE r.id = ANY (a.sales) AND r.status <> 'registered'));
END $$;

-- A payment as it stands in an archive, with all that leaves with it: one line.
CREATE FUNCTION payment_line(p payments) RETURNS text
  LANGUAGE sql STABLE
  SET search_path = pg_catalog, public, pg_temp SET "TimeZone" TO 'UTC' SET bytea_output TO 'hex' SET "DateStyle" TO 'ISO, YMD'
  SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
AS $$
  SELECT jsonb_build_object(
    'id', p.id,
    'payment', to_jsonb(p),
    'receipts', (SELECT jsonb_agg(to_jsonb(r) ORDER BY r.id)
                   FROM (SELECT s.* FROM receipts s WHERE s.id = ANY (sales_of_payment(p))
                         UNION ALL
                         SELECT f.* FROM receipts f WHERE f.refund_of = ANY (sales_of_payment(p))) r),
    'refunds', (SELECT coalesce(jsonb_agg(to_jsonb(f) ORDER BY f.id), '[]') FROM payment_refunds f WHERE f.payment_id = p.id),
    'transactions', (SELECT coalesce(jsonb_agg(to_jsonb(t) ORDER BY t.account_id, t.id), '[]') FROM provider_transactions t WHERE t.payment_id = p.id),
    'extra_charges', (SELECT coalesce(jsonb_agg(to_jsonb(c) ORDER BY c.id), '[]') FROM extra_charges c WHERE c.payment_id = p.id)
  )::text
$$;

-- Removes payments that stand in an archive whose manifest is durable, each with its receipts and all that hangs on it: the only way in which the programs
-- remove one. For every caller: a payment of which anything differs from what the archive holds stays, and so does one that may not leave, or is younger
-- than 395 days.
CREATE FUNCTION remove_archived_payments(of_archive text, ids text[], digests text[]) RETURNS integer
  LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, public, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off
AS $$
DECLARE
  free text[];
  held text[];
  refunds bigint[];
  charges bigint[];
  transactions text[];
  due text[];
  members text[];
  removed integer;
BEGIN
  PERFORM FROM archives WHERE name = of_archive AND state = 'written' FOR SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'archive % is not written', of_archive USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  -- Receipts first, then payments, as every transaction takes them, then what hangs on these, which some write without holding the payment (a provider's fiscal data); what another
  -- one holds stays for now. A refund, a transaction or a charge that is being added holds its sale or its payment; what has been written is seen by the
  -- statements below. From here on nothing is.
  held := ARRAY(SELECT l.id FROM (
    SELECT r.id FROM receipts r
     WHERE r.id = ANY (ARRAY(SELECT unnest(sales_of_payment(p)) FROM payments p WHERE p.id = ANY (ids)))
     ORDER BY r.id FOR UPDATE SKIP LOCKED) l);
  held := held || ARRAY(SELECT l.id FROM (
    SELECT r.id FROM receipts r WHERE r.refund_of = ANY (held) ORDER BY r.id FOR UPDATE SKIP LOCKED) l);
  free := ARRAY(SELECT l.id FROM (SELECT p.id FROM payments p WHERE p.id = ANY (ids) ORDER BY p.id FOR UPDATE SKIP LOCKED) l);
  refunds := ARRAY(SELECT l.id FROM (
    SELECT f.id FROM payment_refunds f WHERE f.payment_id = ANY (free) ORDER BY f.id FOR UPDATE SKIP LOCKED) l);
  charges := ARRAY(SELECT l.id FROM (
    SELECT c.id FROM extra_charges c WHERE c.payment_id = ANY (free) ORDER BY c.id FOR UPDATE SKIP LOCKED) l);
  transactions := ARRAY(SELECT l.account_id || '/' || l.id FROM (
    SELECT t.account_id, t.id FROM provider_transactions t WHERE t.payment_id = ANY (free) ORDER BY t.account_id, t.id FOR UPDATE SKIP LOCKED) l);
  due := ARRAY(SELECT p.id FROM unnest(ids, digests) AS w(id, digest) JOIN payments p ON p.id = w.id
                WHERE p.id = ANY (ARRAY(SELECT payments_that_may_leave(free, now() - interval '395 days')))
                  AND encode(sha256(convert_to(payment_line(p), 'UTF8')), 'hex') = w.digest);
  due := ARRAY(SELECT p.id FROM payments p
                WHERE p.id = ANY (due) AND sales_of_payment(p) <@ held
                  AND NOT EXISTS (SELECT FROM payment_refunds f WHERE f.payment_id = p.id AND f.id <> ALL (refunds))
                  AND NOT EXISTS (SELECT FROM extra_charges c WHERE c.payment_id = p.id AND c.id <> ALL (charges))
                  AND NOT EXISTS (SELECT FROM provider_transactions t WHERE t.payment_id = p.id AND t.account_id || '/' || t.id <> ALL (transactions))
                  AND NOT EXISTS (SELECT FROM receipts f WHERE f.refund_of = ANY (sales_of_payment(p)) AND f.id <> ALL (held)));
  members := ARRAY(SELECT unnest(sales_of_payment(p)) FROM payments p WHERE p.id = ANY (due));
  members := members || ARRAY(SELECT f.id FROM receipts f WHERE f.refund_of = ANY (members));
  -- What stays of them comes first: by it the trigger of the receipts' removal leaves their claims alone.
  INSERT INTO archived_payments (id, merchant_id, account_id, provider_ref, created_at, captured_at, archive)
  SELECT p.id, p.merchant_id, p.account_id, p.provider_ref, p.created_at,
         -- Of money that was taken before its time was kept.
         coalesce(p.captured_at, CASE WHEN p.state IN ('captured', 'refunded') THEN p.created_at END), of_archive
    FROM payments p WHERE p.id = ANY (due) ORDER BY p.id
  ON CONFLICT (id) DO UPDATE SET archive = EXCLUDED.archive, provider_ref = EXCLUDED.provider_ref, captured_at = EXCLUDED.captured_at;
  INSERT INTO archived_receipts (id, merchant_id, client_id, operation, idempotency_key, external_id, body_hash, refund_of, created_at,
                                 registered_at, archive)
  SELECT r.id, r.merchant_id, r.client_id, r.operation, r.idempotency_key, r.external_id, r.body_hash, r.refund_of, r.created_at,
         r.registered_at, of_archive
    FROM receipts r WHERE r.id = ANY (members) ORDER BY r.id
  ON CONFLICT (id) DO UPDATE SET archive = EXCLUDED.archive, registered_at = EXCLUDED.registered_at;
  DELETE FROM extra_charges c WHERE c.payment_id = ANY (due);
  DELETE FROM provider_transactions t WHERE t.payment_id = ANY (due);
  DELETE FROM payment_refunds f WHERE f.payment_id = ANY (due);
  DELETE FROM receipts r WHERE r.id = ANY (members);
  DELETE FROM payments p WHERE p.id = ANY (due);
  GET DIAGNOSTICS removed = ROW_COUNT;
  RETURN removed;
END $$;
REVOKE EXECUTE ON FUNCTION remove_archived_payments(text, text[], text[]) FROM PUBLIC;

-- As before, and payments.
CREATE OR REPLACE FUNCTION rows_of_archive(of_table text, of_archive text, ids text[]) RETURNS text[]
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
  IF of_table = 'attempts' THEN
    RETURN ARRAY(SELECT h.id FROM (SELECT k.id FROM archived_attempts k WHERE k.id = ANY (ids) AND k.archive = of_archive ORDER BY k.id FOR SHARE) h);
  ELSIF of_table = 'receipts' THEN
    RETURN ARRAY(SELECT h.id FROM (SELECT k.id FROM archived_receipts k WHERE k.id = ANY (ids) AND k.archive = of_archive ORDER BY k.id FOR SHARE) h);
  ELSIF of_table = 'payments' THEN
    RETURN ARRAY(SELECT h.id FROM (SELECT k.id FROM archived_payments k WHERE k.id = ANY (ids) AND k.archive = of_archive ORDER BY k.id FOR SHARE) h);
  END IF;
  RAISE EXCEPTION 'rows of % do not leave one by one', of_table;
END $$;
