-- What is unique of receipts over all time (an idempotency key, an external id, a registration) is claimed in tables of their own
-- (docs/adr/0199-claims-of-receipts.md): an index of a table in partitions is unique within one partition alone. This is the first of three
-- migrations. Claims are kept by triggers of the owner's, so that programs of the release before keep the promises as well.
CREATE TABLE "idempotency_claims" (
    "client_id" TEXT NOT NULL,
    "operation" TEXT NOT NULL,
    "idempotency_key" TEXT NOT NULL,
    "receipt_id" TEXT NOT NULL,

    CONSTRAINT "idempotency_claims_pkey" PRIMARY KEY ("client_id","operation","idempotency_key")
);
CREATE TABLE "external_id_claims" (
    "merchant_id" TEXT NOT NULL,
    "external_id" TEXT NOT NULL,
    "receipt_id" TEXT NOT NULL,

    CONSTRAINT "external_id_claims_pkey" PRIMARY KEY ("merchant_id","external_id")
);
CREATE TABLE "registration_claims" (
    "terminal_id" TEXT NOT NULL,
    "receipt_seq" BIGINT NOT NULL,
    "merchant_id" TEXT NOT NULL,
    "receipt_id" TEXT NOT NULL,

    CONSTRAINT "registration_claims_pkey" PRIMARY KEY ("terminal_id","receipt_seq","merchant_id")
);
-- They only grow, as events do.
ALTER TABLE idempotency_claims SET (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_insert_threshold = 50000, autovacuum_freeze_min_age = 0);
ALTER TABLE external_id_claims SET (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_insert_threshold = 50000, autovacuum_freeze_min_age = 0);
ALTER TABLE registration_claims SET (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_insert_threshold = 50000, autovacuum_freeze_min_age = 0);

-- A receipt whose key or external id another one has is left out, as `ON CONFLICT DO NOTHING` left it out by the unique indexes: all statements
-- that write receipts say so, and read afterwards who has it. A claim of its own is none against it: a partition's rows are put into another one, or
-- a backup brings receipts back after their claims. Its name stands in the context of an error, by which programs know that a row of receipts was
-- waited for (isRowContended).
CREATE FUNCTION receipts_claim_identity() RETURNS trigger
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
  has_claimed_key boolean := false;
BEGIN
  IF NEW.idempotency_key IS NOT NULL THEN
    INSERT INTO public.idempotency_claims (client_id, operation, idempotency_key, receipt_id)
    VALUES (NEW.client_id, NEW.operation, NEW.idempotency_key, NEW.id)
        ON CONFLICT (client_id, operation, idempotency_key) DO NOTHING;
    has_claimed_key := FOUND;
    IF NOT FOUND AND NOT EXISTS (
      SELECT FROM public.idempotency_claims c
       WHERE c.client_id = NEW.client_id AND c.operation = NEW.operation AND c.idempotency_key = NEW.idempotency_key AND c.receipt_id = NEW.id
    ) THEN
      RETURN NULL;
    END IF;
  END IF;
  IF NEW.external_id IS NOT NULL THEN
    INSERT INTO public.external_id_claims (merchant_id, external_id, receipt_id)
    VALUES (NEW.merchant_id, NEW.external_id, NEW.id)
        ON CONFLICT (merchant_id, external_id) DO NOTHING;
    IF NOT FOUND AND NOT EXISTS (
      SELECT FROM public.external_id_claims c
       WHERE c.merchant_id = NEW.merchant_id AND c.external_id = NEW.external_id AND c.receipt_id = NEW.id
    ) THEN
      -- Who waits for this key gets it when this transaction has ended: no receipt holds it.
      IF has_claimed_key THEN
        DELETE FROM public.idempotency_claims c
         WHERE c.client_id = NEW.client_id AND c.operation = NEW.operation AND c.idempotency_key = NEW.idempotency_key;
      END IF;
      RETURN NULL;
    END IF;
  END IF;
  RETURN NEW;
END $$;

-- A registration that another receipt has is refused, as the unique index refused it.
CREATE FUNCTION receipts_claim_registration() RETURNS trigger
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND OLD.receipt_seq IS NOT NULL THEN
    DELETE FROM public.registration_claims c
     WHERE c.terminal_id = OLD.terminal_id AND c.receipt_seq = OLD.receipt_seq AND c.merchant_id = OLD.merchant_id AND c.receipt_id = OLD.id;
  END IF;
  IF NEW.receipt_seq IS NOT NULL THEN
    INSERT INTO public.registration_claims (terminal_id, receipt_seq, merchant_id, receipt_id)
    VALUES (NEW.terminal_id, NEW.receipt_seq, NEW.merchant_id, NEW.id)
        ON CONFLICT (terminal_id, receipt_seq, merchant_id) DO NOTHING;
    IF NOT FOUND AND NOT EXISTS (
      SELECT FROM public.registration_claims c
       WHERE c.terminal_id = NEW.terminal_id AND c.receipt_seq = NEW.receipt_seq AND c.merchant_id = NEW.merchant_id AND c.receipt_id = NEW.id
    ) THEN
      RAISE EXCEPTION 'receipts_one_per_registration_of_merchant: another receipt is document % of terminal %', NEW.receipt_seq, NEW.terminal_id
        USING ERRCODE = 'unique_violation', TABLE = 'receipts', CONSTRAINT = 'receipts_one_per_registration_of_merchant';
    END IF;
  END IF;
  RETURN NULL;
END $$;

-- Of an owner's own statements: no program has the right to change or to remove what is claimed. Rows that leave with their partition keep
-- their claims: an old key must not sell again.
CREATE FUNCTION receipts_claims_follow() RETURNS trigger
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    TRUNCATE public.idempotency_claims, public.external_id_claims, public.registration_claims;
    RETURN NULL;
  END IF;
  -- Moved within its statement, into another partition or anew: it has found its own claims.
  IF TG_OP = 'DELETE' AND EXISTS (SELECT FROM public.receipts r WHERE r.id = OLD.id) THEN
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

-- They do with the owner's rights what they do: no one else may put them on a table of its own. prisma/grants.sql says the same of the programs.
REVOKE EXECUTE ON FUNCTION receipts_claim_identity(), receipts_claim_registration(), receipts_claims_follow() FROM PUBLIC;

CREATE TRIGGER receipts_claim_identity BEFORE INSERT ON receipts
  FOR EACH ROW WHEN (NEW.idempotency_key IS NOT NULL OR NEW.external_id IS NOT NULL) EXECUTE FUNCTION receipts_claim_identity();
-- After the row, so that what the table itself refuses or leaves out claims nothing.
CREATE TRIGGER receipts_claim_registration AFTER INSERT ON receipts
  FOR EACH ROW WHEN (NEW.receipt_seq IS NOT NULL) EXECUTE FUNCTION receipts_claim_registration();
CREATE TRIGGER receipts_registration_moves AFTER UPDATE OF terminal_id, receipt_seq ON receipts
  FOR EACH ROW WHEN (OLD.receipt_seq IS DISTINCT FROM NEW.receipt_seq OR OLD.terminal_id IS DISTINCT FROM NEW.terminal_id)
  EXECUTE FUNCTION receipts_claim_registration();
CREATE TRIGGER receipts_claims_move AFTER UPDATE OF id, merchant_id, client_id, operation, idempotency_key, external_id ON receipts
  FOR EACH ROW WHEN ((OLD.id, OLD.merchant_id, OLD.client_id, OLD.operation, OLD.idempotency_key, OLD.external_id)
                     IS DISTINCT FROM (NEW.id, NEW.merchant_id, NEW.client_id, NEW.operation, NEW.idempotency_key, NEW.external_id))
  EXECUTE FUNCTION receipts_claims_follow();
CREATE TRIGGER receipts_claims_end AFTER DELETE ON receipts
  FOR EACH ROW WHEN (OLD.idempotency_key IS NOT NULL OR OLD.external_id IS NOT NULL OR OLD.receipt_seq IS NOT NULL)
  EXECUTE FUNCTION receipts_claims_follow();
CREATE TRIGGER receipts_claims_all_end AFTER TRUNCATE ON receipts
  FOR EACH STATEMENT EXECUTE FUNCTION receipts_claims_follow();

-- Until receipts that were there before have claims as well: one that repeats their key or external id claims nothing. Its trigger comes before the
-- other one, as its name does. The last of the three migrations takes it away, and what fills the claims.
CREATE FUNCTION receipts_already_there() RETURNS trigger
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
AS $$
BEGIN
  IF EXISTS (SELECT FROM public.receipts r
              WHERE r.client_id = NEW.client_id AND r.operation = NEW.operation AND r.idempotency_key = NEW.idempotency_key)
     OR EXISTS (SELECT FROM public.receipts r WHERE r.merchant_id = NEW.merchant_id AND r.external_id = NEW.external_id) THEN
    RETURN NULL;
  END IF;
  RETURN NEW;
END $$;
REVOKE EXECUTE ON FUNCTION receipts_already_there() FROM PUBLIC;
CREATE TRIGGER receipts_already_there BEFORE INSERT ON receipts
  FOR EACH ROW WHEN (NEW.idempotency_key IS NOT NULL OR NEW.external_id IS NOT NULL) EXECUTE FUNCTION receipts_already_there();

-- Each piece is a transaction of its own, which keeps neither writers nor vacuum waiting; killed, it goes on behind the last one.
CREATE TABLE "receipt_claims_filled" ("up_to" TEXT NOT NULL);
INSERT INTO receipt_claims_filled VALUES ('');
CREATE PROCEDURE fill_receipt_claims()
  LANGUAGE plpgsql
AS $$
DECLARE
  newest CONSTANT text := (SELECT max(r.id) FROM public.receipts r);
  after_id text := (SELECT f.up_to FROM public.receipt_claims_filled f);
  up_to_id text;
BEGIN
  -- Each piece by its ids, also where nothing is known of the table, as after a restore.
  PERFORM set_config('enable_seqscan', 'off', false), set_config('enable_bitmapscan', 'off', false), set_config('enable_sort', 'off', false);
  LOOP
    up_to_id := (SELECT max(p.id) FROM (SELECT r.id FROM public.receipts r WHERE r.id > after_id AND r.id <= newest ORDER BY r.id LIMIT 2000) p);
    EXIT WHEN up_to_id IS NULL;
    INSERT INTO public.idempotency_claims (client_id, operation, idempotency_key, receipt_id)
    SELECT r.client_id, r.operation, r.idempotency_key, r.id FROM public.receipts r
     WHERE r.id > after_id AND r.id <= up_to_id AND r.idempotency_key IS NOT NULL
        ON CONFLICT DO NOTHING;
    INSERT INTO public.external_id_claims (merchant_id, external_id, receipt_id)
    SELECT r.merchant_id, r.external_id, r.id FROM public.receipts r
     WHERE r.id > after_id AND r.id <= up_to_id AND r.external_id IS NOT NULL
        ON CONFLICT DO NOTHING;
    INSERT INTO public.registration_claims (terminal_id, receipt_seq, merchant_id, receipt_id)
    SELECT r.terminal_id, r.receipt_seq, r.merchant_id, r.id FROM public.receipts r
     WHERE r.id > after_id AND r.id <= up_to_id AND r.receipt_seq IS NOT NULL
        ON CONFLICT DO NOTHING;
    UPDATE public.receipt_claims_filled SET up_to = up_to_id;
    COMMIT;
    after_id := up_to_id;
  END LOOP;
  PERFORM set_config('enable_seqscan', 'on', false), set_config('enable_bitmapscan', 'on', false), set_config('enable_sort', 'on', false);
END $$;
