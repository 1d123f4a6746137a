-- CreateEnum
CREATE TYPE "archive_state" AS ENUM ('writing', 'written', 'removed', 'restored', 'abandoned');

-- CreateTable
CREATE TABLE "archives" (
    "name" TEXT NOT NULL,
    "state" "archive_state" NOT NULL DEFAULT 'writing',
    "rows" INTEGER NOT NULL DEFAULT 0,
    "removed" INTEGER NOT NULL DEFAULT 0,
    "first_id" TEXT,
    "last_id" TEXT,
    "bytes" BIGINT NOT NULL DEFAULT 0,
    "sha256" TEXT,
    "begun_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "written_at" TIMESTAMPTZ(3),
    "removed_at" TIMESTAMPTZ(3),
    "restored_at" TIMESTAMPTZ(3),

    CONSTRAINT "archives_pkey" PRIMARY KEY ("name")
);

-- CreateTable
CREATE TABLE "archived_attempts" (
    "id" TEXT NOT NULL,
    "receipt_id" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "archive" TEXT NOT NULL,

    CONSTRAINT "archived_attempts_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "archives_to_do" ON "archives"("begun_at") WHERE (state = ANY (ARRAY['writing'::archive_state, 'written'::archive_state, 'restored'::archive_state]));

-- CreateIndex
CREATE INDEX "archived_attempts_receipt_id_idx" ON "archived_attempts"("receipt_id");

-- AddForeignKey
ALTER TABLE "archived_attempts" ADD CONSTRAINT "archived_attempts_archive_fkey" FOREIGN KEY ("archive") REFERENCES "archives"("name") ON DELETE RESTRICT ON UPDATE CASCADE;

-- A row as it stands in an archive. The settings are part of it: its digest must not depend on the session.
CREATE FUNCTION attempt_line(a attempts) RETURNS text
  LANGUAGE sql STABLE
  SET "TimeZone" TO 'UTC' SET bytea_output TO 'hex' SET "DateStyle" TO 'ISO, YMD'
AS $$ SELECT to_jsonb(a)::text $$;

-- Whether an attempt may leave the database: it is closed and proven, and nothing of its receipt can still move. The newest of its
-- register stays: the register's page begins with it.
CREATE FUNCTION attempt_may_leave(a attempts, before timestamptz) RETURNS boolean
  LANGUAGE sql STABLE
AS $$
  SELECT a.state IN ('registered', 'rejected', 'not_registered') AND a.created_at < before AND a.closed_at < before
     AND EXISTS (SELECT FROM receipts r
                  WHERE r.id = a.receipt_id AND r.status IN ('registered', 'rejected', 'cancelled') AND r.updated_at < before
                    AND r.ofd_status IS DISTINCT FROM 'pending')
     AND NOT EXISTS (SELECT FROM receipts f
                      WHERE f.refund_of = a.receipt_id AND f.status NOT IN ('registered', 'rejected', 'cancelled'))
     AND NOT EXISTS (SELECT FROM attempts o
                      WHERE o.receipt_id = a.receipt_id AND o.state NOT IN ('registered', 'rejected', 'not_registered'))
     AND EXISTS (SELECT FROM attempts n WHERE n.device_id = a.device_id AND n.id > a.id AND n.state <> 'open')
$$;

-- Removes attempts that stand in an archive whose manifest is durable: the only way in which the programs remove one. For every caller:
-- a row that differs from what the archive holds stays, and so does what may not leave, or is younger than ninety days.
CREATE FUNCTION remove_archived_attempts(of_archive text, ids text[], digests text[]) RETURNS integer
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE removed integer;
BEGIN
  PERFORM FROM archives WHERE name = of_archive AND state = 'written' FOR SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'archive % is not written', of_archive USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
  WITH gone AS (
    DELETE FROM attempts a USING unnest(ids, digests) AS w(id, digest)
     WHERE a.id = w.id AND attempt_may_leave(a, now() - interval '90 days')
       AND encode(sha256(convert_to(attempt_line(a), 'UTF8')), 'hex') = w.digest
    RETURNING a.id, a.receipt_id, a.number, a.created_at
  ), kept AS (
    INSERT INTO archived_attempts (id, receipt_id, number, created_at, archive)
    SELECT id, receipt_id, number, created_at, of_archive FROM gone
    ON CONFLICT (id) DO UPDATE SET archive = EXCLUDED.archive
  ) SELECT count(*) INTO removed FROM gone;
  RETURN removed;
END $$;
REVOKE EXECUTE ON FUNCTION remove_archived_attempts(text, text[], text[]) FROM PUBLIC;
