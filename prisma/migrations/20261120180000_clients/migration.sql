-- CreateEnum
CREATE TYPE "ip_policy" AS ENUM ('any', 'listed');

-- AlterTable
ALTER TABLE "oauth_clients" ADD COLUMN     "allowed_cidrs" TEXT[] DEFAULT ARRAY[]::TEXT[],
ADD COLUMN     "ip_policy" "ip_policy" NOT NULL DEFAULT 'any',
ADD COLUMN     "previous_secret_expires_at" TIMESTAMPTZ(3),
ADD COLUMN     "previous_secret_hash" BYTEA;

-- CreateTable
CREATE TABLE "client_assertions" (
    "client_id" TEXT NOT NULL,
    "jti_hash" BYTEA NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "client_assertions_pkey" PRIMARY KEY ("client_id","jti_hash")
);

-- CreateIndex
CREATE INDEX "client_assertions_expired" ON "client_assertions"("expires_at");

-- CreateIndex
CREATE INDEX "oauth_clients_of_merchant" ON "oauth_clients"("merchant_id", "id");

-- CreateIndex
CREATE INDEX "audit_records_of_subject" ON "audit_records"("merchant_id", "target_id", "sequence");

-- CreateIndex
CREATE INDEX "audit_records_of_action" ON "audit_records"("merchant_id", "action", "sequence");

-- AddForeignKey
ALTER TABLE "client_assertions" ADD CONSTRAINT "client_assertions_client_id_fkey" FOREIGN KEY ("client_id") REFERENCES "oauth_clients"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- ---------------------------------------------------------------------------------------------------------------------
-- What Prisma's schema language cannot say (docs/architecture.md lists it).

-- Whoever takes a token or a client's rights away, by whatever path: every gateway hears of it with the commit and asks
-- again. Payload: `client:<id>` or `token:<SHA-256, hex>`. Such changes are rare, so NOTIFY inside their transaction costs
-- nobody; tokens are inserted without a word.
CREATE FUNCTION tell_access_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_TABLE_NAME = 'oauth_clients' THEN
    PERFORM pg_notify('access_changed', 'client:' || NEW.id);
  ELSE
    PERFORM pg_notify('access_changed', 'token:' || encode(NEW.token_hash, 'hex'));
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER oauth_clients_tell_access_changed AFTER UPDATE ON oauth_clients
  FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*)
  EXECUTE FUNCTION tell_access_changed();
CREATE TRIGGER oauth_tokens_tell_access_changed AFTER UPDATE OF revoked_at, expires_at ON oauth_tokens
  FOR EACH ROW WHEN (NEW.revoked_at IS DISTINCT FROM OLD.revoked_at OR NEW.expires_at IS DISTINCT FROM OLD.expires_at)
  EXECUTE FUNCTION tell_access_changed();
