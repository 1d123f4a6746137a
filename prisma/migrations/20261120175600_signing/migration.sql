-- CreateEnum
CREATE TYPE "signing_policy" AS ENUM ('auto', 'off', 'writes', 'all');

-- CreateEnum
CREATE TYPE "client_key_use" AS ENUM ('signing', 'authentication');

-- AlterTable
ALTER TABLE "oauth_clients" ADD COLUMN     "signing_policy" "signing_policy" NOT NULL DEFAULT 'auto';

-- CreateTable
CREATE TABLE "client_keys" (
    "id" TEXT NOT NULL,
    "client_id" TEXT NOT NULL,
    "use" "client_key_use" NOT NULL,
    "algorithm" TEXT NOT NULL,
    "public_key" TEXT,
    "secret_sealed" BYTEA,
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "disabled_at" TIMESTAMPTZ(3),

    CONSTRAINT "client_keys_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "signature_nonces" (
    "key_id" TEXT NOT NULL,
    "nonce" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "signature_nonces_pkey" PRIMARY KEY ("key_id","nonce")
);

-- CreateIndex
CREATE INDEX "client_keys_client_id_idx" ON "client_keys"("client_id");

-- CreateIndex
CREATE INDEX "signature_nonces_expired" ON "signature_nonces"("expires_at");

-- AddForeignKey
ALTER TABLE "client_keys" ADD CONSTRAINT "client_keys_client_id_fkey" FOREIGN KEY ("client_id") REFERENCES "oauth_clients"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- ---------------------------------------------------------------------------------------------------------------------
-- What Prisma's schema language cannot say (docs/architecture.md lists it).

-- A key is public, or a secret shared with us: never both, never neither.
ALTER TABLE "client_keys" ADD CONSTRAINT "client_keys_public_or_secret"
  CHECK (("public_key" IS NULL) <> ("secret_sealed" IS NULL));

-- Rows live for minutes: the dead ones are cleared away before the table grows.
ALTER TABLE "signature_nonces" SET (autovacuum_vacuum_scale_factor = 0.1, autovacuum_vacuum_threshold = 5000,
                                    autovacuum_analyze_scale_factor = 0.5);

-- Whoever changes a key or the policy, by whatever path: every gateway hears of it with the commit and reads the rows.
-- Such changes are rare, so NOTIFY inside their transaction costs nobody.
CREATE FUNCTION tell_signing_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('signing_changed', CASE TG_TABLE_NAME WHEN 'oauth_clients' THEN to_jsonb(NEW) ->> 'id'
                                                          ELSE to_jsonb(NEW) ->> 'client_id' END);
  RETURN NULL;
END
$$;
CREATE TRIGGER client_keys_tell_signing_changed AFTER INSERT OR UPDATE ON client_keys
  FOR EACH ROW EXECUTE FUNCTION tell_signing_changed();
CREATE TRIGGER oauth_clients_tell_signing_changed AFTER UPDATE OF signing_policy ON oauth_clients
  FOR EACH ROW WHEN (NEW.signing_policy IS DISTINCT FROM OLD.signing_policy)
  EXECUTE FUNCTION tell_signing_changed();
