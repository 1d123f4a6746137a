-- CreateEnum
CREATE TYPE "approval_state" AS ENUM ('pending', 'approved', 'refused', 'used');

-- AlterTable
ALTER TABLE "audit_records" ADD COLUMN     "session_id" TEXT;

-- CreateTable
CREATE TABLE "users" (
    "id" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "password_hash" TEXT,
    "totp_sealed" BYTEA,
    "totp_step" BIGINT NOT NULL DEFAULT 0,
    "oidc_issuer" TEXT,
    "oidc_subject" TEXT,
    "disabled_at" TIMESTAMPTZ(3),
    "last_login_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "users_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "memberships" (
    "id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "merchant_id" TEXT,
    "role" TEXT NOT NULL,
    "origin" TEXT NOT NULL DEFAULT 'invitation',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "memberships_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "user_sessions" (
    "id" TEXT NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "user_id" TEXT NOT NULL,
    "login" TEXT NOT NULL,
    "address" TEXT,
    "user_agent" TEXT,
    "id_token_sealed" BYTEA,
    "stepped_up_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "revoked_at" TIMESTAMPTZ(3),

    CONSTRAINT "user_sessions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "passkeys" (
    "id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "credential_id" TEXT NOT NULL,
    "public_key" BYTEA NOT NULL,
    "counter" BIGINT NOT NULL DEFAULT 0,
    "transports" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_used_at" TIMESTAMPTZ(3),

    CONSTRAINT "passkeys_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "used_challenges" (
    "hash" BYTEA NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "used_challenges_pkey" PRIMARY KEY ("hash")
);

-- CreateTable
CREATE TABLE "invitations" (
    "id" TEXT NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "email" TEXT NOT NULL,
    "merchant_id" TEXT,
    "roles" TEXT[],
    "user_id" TEXT,
    "invited_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "used_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),

    CONSTRAINT "invitations_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "approvals" (
    "id" TEXT NOT NULL,
    "merchant_id" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "subject_id" TEXT NOT NULL,
    "request_hash" BYTEA NOT NULL,
    "request" JSONB NOT NULL,
    "scopes" TEXT[],
    "state" "approval_state" NOT NULL DEFAULT 'pending',
    "requested_by" TEXT NOT NULL,
    "requested_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "decided_by" TEXT,
    "decided_at" TIMESTAMPTZ(3),

    CONSTRAINT "approvals_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "users_email_key" ON "users"("email");

-- CreateIndex
CREATE UNIQUE INDEX "users_of_provider" ON "users"("oidc_issuer", "oidc_subject");

-- CreateIndex
CREATE INDEX "memberships_of_merchant" ON "memberships"("merchant_id", "user_id");

-- CreateIndex
CREATE UNIQUE INDEX "memberships_once_per_merchant" ON "memberships"("user_id", "merchant_id", "role") WHERE (merchant_id IS NOT NULL);

-- CreateIndex
CREATE UNIQUE INDEX "memberships_once_on_platform" ON "memberships"("user_id", "role") WHERE (merchant_id IS NULL);

-- CreateIndex
CREATE UNIQUE INDEX "user_sessions_token_hash_key" ON "user_sessions"("token_hash");

-- CreateIndex
CREATE INDEX "user_sessions_of_user" ON "user_sessions"("user_id", "id");

-- CreateIndex
CREATE INDEX "user_sessions_expired" ON "user_sessions"("expires_at");

-- CreateIndex
CREATE UNIQUE INDEX "passkeys_credential_id_key" ON "passkeys"("credential_id");

-- CreateIndex
CREATE INDEX "passkeys_of_user" ON "passkeys"("user_id");

-- CreateIndex
CREATE INDEX "used_challenges_expired" ON "used_challenges"("expires_at");

-- CreateIndex
CREATE UNIQUE INDEX "invitations_token_hash_key" ON "invitations"("token_hash");

-- CreateIndex
CREATE INDEX "invitations_of_merchant" ON "invitations"("merchant_id", "id");

-- CreateIndex
CREATE INDEX "approvals_of_merchant" ON "approvals"("merchant_id", "id");

-- CreateIndex
CREATE INDEX "approvals_of_request" ON "approvals"("merchant_id", "request_hash");

-- AddForeignKey
ALTER TABLE "memberships" ADD CONSTRAINT "memberships_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "memberships" ADD CONSTRAINT "memberships_merchant_id_fkey" FOREIGN KEY ("merchant_id") REFERENCES "merchants"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "user_sessions" ADD CONSTRAINT "user_sessions_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "passkeys" ADD CONSTRAINT "passkeys_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- ---------------------------------------------------------------------------------------------------------------------
-- What Prisma's schema language cannot say (docs/architecture.md lists it).

-- A role that is none gives no scope; it is refused all the same. A merchant's role is not one of the platform.
ALTER TABLE memberships ADD CONSTRAINT memberships_role_fits CHECK (
  CASE WHEN merchant_id IS NULL THEN role IN ('platform_administrator', 'platform_reader')
       ELSE role IN ('owner', 'operator', 'accountant', 'support', 'developer') END);

-- What is taken away from a session or a user: every gateway receives it with the commit and reads again, as with tokens.
-- `session:<SHA-256, hex>` or `user:<id>`. A session that was only used says nothing.
CREATE FUNCTION notify_person_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_TABLE_NAME = 'user_sessions' THEN
    PERFORM pg_notify('access_changed', 'session:' || encode(OLD.token_hash, 'hex'));
  ELSIF TG_TABLE_NAME = 'users' THEN
    PERFORM pg_notify('access_changed', 'user:' || OLD.id);
  ELSIF TG_OP = 'INSERT' THEN
    PERFORM pg_notify('access_changed', 'user:' || NEW.user_id);
  ELSE
    PERFORM pg_notify('access_changed', 'user:' || OLD.user_id);
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER user_sessions_notify_person_changed
  AFTER UPDATE OF revoked_at, expires_at, stepped_up_at, token_hash, user_id OR DELETE ON user_sessions
  FOR EACH ROW EXECUTE FUNCTION notify_person_changed();
CREATE TRIGGER users_notify_person_changed AFTER UPDATE OF disabled_at, name, email ON users
  FOR EACH ROW EXECUTE FUNCTION notify_person_changed();
CREATE TRIGGER memberships_notify_person_changed AFTER INSERT OR UPDATE OR DELETE ON memberships
  FOR EACH ROW EXECUTE FUNCTION notify_person_changed();
