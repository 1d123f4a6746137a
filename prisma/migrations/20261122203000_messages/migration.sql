-- Receipts reach their buyers (docs/messages.md). All tables are new: no sale waits for any of it.
-- CreateEnum
CREATE TYPE "message_channel" AS ENUM ('email', 'sms', 'telegram');

-- CreateEnum
CREATE TYPE "message_state" AS ENUM ('pending', 'sending', 'unclear', 'sent', 'delivered', 'failed');

-- CreateEnum
CREATE TYPE "message_source" AS ENUM ('sale', 'api', 'page', 'bot', 'test');

-- CreateTable
CREATE TABLE "message_accounts" (
    "id" TEXT NOT NULL,
    "merchant_id" TEXT NOT NULL,
    "channel" "message_channel" NOT NULL,
    "provider" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "settings" JSONB NOT NULL,
    "credentials_sealed" BYTEA NOT NULL,
    "per_minute" INTEGER NOT NULL DEFAULT 60,
    "quiet_from" TEXT,
    "quiet_until" TEXT,
    "disabled_at" TIMESTAMPTZ(3),
    "disabled_reason" TEXT,
    "failing_since" TIMESTAMPTZ(3),
    "failures" INTEGER NOT NULL DEFAULT 0,
    "blocked_until" TIMESTAMPTZ(3),
    "due_at" TIMESTAMPTZ(3),
    "lease_until" TIMESTAMPTZ(3),
    "wakes" BIGINT NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "deleted_at" TIMESTAMPTZ(3),

    CONSTRAINT "message_accounts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "messages" (
    "id" TEXT NOT NULL,
    "merchant_id" TEXT NOT NULL,
    "receipt_id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "channel" "message_channel" NOT NULL,
    "source" "message_source" NOT NULL,
    "language" TEXT NOT NULL,
    "address_sealed" BYTEA,
    "address_hash" BYTEA NOT NULL,
    "address_hint" TEXT NOT NULL,
    "state" "message_state" NOT NULL DEFAULT 'pending',
    "reason" TEXT,
    "provider_ref" TEXT,
    "provider_word" TEXT,
    "parts" SMALLINT,
    "cost_tiyin" BIGINT,
    "attempt_count" INTEGER NOT NULL DEFAULT 0,
    "ask_count" INTEGER NOT NULL DEFAULT 0,
    "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "tried_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "sent_at" TIMESTAMPTZ(3),
    "delivered_at" TIMESTAMPTZ(3),
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "messages_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "message_attempts" (
    "message_id" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "duration_ms" INTEGER,
    "outcome" TEXT,
    "code" TEXT,
    "detail" TEXT,

    CONSTRAINT "message_attempts_pkey" PRIMARY KEY ("message_id","number")
);

-- CreateTable
CREATE TABLE "suppressions" (
    "id" TEXT NOT NULL,
    "merchant_id" TEXT NOT NULL,
    "channel" "message_channel" NOT NULL,
    "address_hash" BYTEA NOT NULL,
    "address_hint" TEXT NOT NULL,
    "reason" TEXT NOT NULL,
    "message_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "suppressions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "message_templates" (
    "merchant_id" TEXT NOT NULL,
    "channel" "message_channel" NOT NULL,
    "language" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "text" TEXT NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "message_templates_pkey" PRIMARY KEY ("merchant_id","channel","language")
);

-- CreateTable
CREATE TABLE "message_keys" (
    "id" TEXT NOT NULL,
    "key_sealed" BYTEA NOT NULL,

    CONSTRAINT "message_keys_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "bot_chats" (
    "id" TEXT NOT NULL,
    "merchant_id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "chat_hash" BYTEA NOT NULL,
    "chat_sealed" BYTEA NOT NULL,
    "phone_hash" BYTEA,
    "language" TEXT NOT NULL,
    "stopped_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "bot_chats_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "merchant_brands" (
    "merchant_id" TEXT NOT NULL,
    "header" TEXT NOT NULL DEFAULT '',
    "footer" TEXT NOT NULL DEFAULT '',
    "logo" BYTEA,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "merchant_brands_pkey" PRIMARY KEY ("merchant_id")
);

-- CreateIndex
CREATE INDEX "message_accounts_of_merchant" ON "message_accounts"("merchant_id", "id");

-- CreateIndex
CREATE INDEX "message_accounts_due" ON "message_accounts"("due_at") WHERE (due_at IS NOT NULL);

-- CreateIndex
CREATE UNIQUE INDEX "message_accounts_one_per_channel" ON "message_accounts"("merchant_id", "channel") WHERE (deleted_at IS NULL);

-- CreateIndex
CREATE INDEX "messages_of_receipt" ON "messages"("receipt_id", "id");

-- CreateIndex
CREATE INDEX "messages_newest" ON "messages"("merchant_id", "id");

-- CreateIndex
CREATE INDEX "messages_due" ON "messages"("account_id", "due_at") WHERE (state = ANY (ARRAY['pending'::message_state, 'sending'::message_state, 'unclear'::message_state]));

-- CreateIndex
CREATE INDEX "messages_by_provider_ref" ON "messages"("account_id", "provider_ref") WHERE (provider_ref IS NOT NULL);

-- CreateIndex
CREATE INDEX "messages_asked_for_by_buyers" ON "messages"("address_hash", "created_at") WHERE (source = 'page'::message_source);

-- CreateIndex
CREATE INDEX "messages_asked_for_on_pages" ON "messages"("merchant_id", "created_at") WHERE (source = 'page'::message_source);

-- CreateIndex
CREATE INDEX "messages_finished" ON "messages"("finished_at") WHERE (finished_at IS NOT NULL);

-- CreateIndex
CREATE INDEX "messages_to_erase" ON "messages"("finished_at") WHERE (finished_at IS NOT NULL AND address_sealed IS NOT NULL);

-- CreateIndex
CREATE UNIQUE INDEX "messages_one_of_sale" ON "messages"("receipt_id", "channel") WHERE (source = 'sale'::message_source);

-- CreateIndex
CREATE INDEX "suppressions_of_merchant" ON "suppressions"("merchant_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "suppressions_one_per_address" ON "suppressions"("merchant_id", "channel", "address_hash");

-- CreateIndex
CREATE UNIQUE INDEX "bot_chats_one_per_chat" ON "bot_chats"("account_id", "chat_hash");

-- CreateIndex
CREATE UNIQUE INDEX "bot_chats_one_per_phone" ON "bot_chats"("account_id", "phone_hash") WHERE (phone_hash IS NOT NULL);

-- AddForeignKey
ALTER TABLE "messages" ADD CONSTRAINT "messages_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "message_accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "message_attempts" ADD CONSTRAINT "message_attempts_message_id_fkey" FOREIGN KEY ("message_id") REFERENCES "messages"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
