-- Part of PostgreSQL's contrib and "trusted": the owner of the database may create it.
CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- CreateEnum
CREATE TYPE "product_key_kind" AS ENUM ('name', 'barcode');

-- CreateEnum
CREATE TYPE "catalog_sync_state" AS ENUM ('open', 'committed', 'aborted');

-- CreateEnum
CREATE TYPE "catalog_import_state" AS ENUM ('running', 'done', 'failed');

-- CreateEnum
CREATE TYPE "classifier_import_state" AS ENUM ('loading', 'applied', 'failed');

-- AlterTable
ALTER TABLE "classifier_entries" ADD COLUMN     "word_keys" BIGINT[] DEFAULT ARRAY[]::BIGINT[];

-- AlterTable
ALTER TABLE "products" ADD COLUMN     "aliases" TEXT[] DEFAULT ARRAY[]::TEXT[],
ADD COLUMN     "attributes" JSONB NOT NULL DEFAULT '{}',
ADD COLUMN     "barcodes" TEXT[] DEFAULT ARRAY[]::TEXT[],
ADD COLUMN     "cash_allowed" BOOLEAN,
ADD COLUMN     "change_position" BIGSERIAL NOT NULL,
ADD COLUMN     "change_transaction" xid8 NOT NULL DEFAULT pg_current_xact_id(),
ADD COLUMN     "commission" JSONB,
ADD COLUMN     "marked" BOOLEAN,
ADD COLUMN     "names" JSONB NOT NULL DEFAULT '{}',
ADD COLUMN     "owner_type" SMALLINT,
ADD COLUMN     "word_keys" BIGINT[] DEFAULT ARRAY[]::BIGINT[];

-- CreateTable
CREATE TABLE "product_keys" (
    "merchant_id" TEXT NOT NULL,
    "kind" "product_key_kind" NOT NULL,
    "key" TEXT NOT NULL,
    "sku" TEXT NOT NULL,

    CONSTRAINT "product_keys_pkey" PRIMARY KEY ("merchant_id","kind","key","sku")
);

-- CreateTable
CREATE TABLE "catalog_words" (
    "word" TEXT NOT NULL,

    CONSTRAINT "catalog_words_pkey" PRIMARY KEY ("word")
);

-- CreateTable
CREATE TABLE "catalog_syncs" (
    "id" TEXT NOT NULL,
    "merchant_id" TEXT NOT NULL,
    "state" "catalog_sync_state" NOT NULL DEFAULT 'open',
    "commit_requested_at" TIMESTAMPTZ(3),
    "result" JSONB,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "catalog_syncs_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "catalog_sync_items" (
    "sync_id" TEXT NOT NULL,
    "sku" TEXT NOT NULL,
    "product" JSONB NOT NULL,

    CONSTRAINT "catalog_sync_items_pkey" PRIMARY KEY ("sync_id","sku")
);

-- CreateTable
CREATE TABLE "catalog_imports" (
    "id" TEXT NOT NULL,
    "merchant_id" TEXT NOT NULL,
    "format" TEXT NOT NULL,
    "mode" TEXT NOT NULL,
    "state" "catalog_import_state" NOT NULL DEFAULT 'running',
    "progress" JSONB NOT NULL DEFAULT '{}',
    "error" TEXT,
    "columns" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "catalog_imports_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "catalog_import_rejects" (
    "import_id" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "cells" JSONB NOT NULL,
    "reasons" TEXT NOT NULL,

    CONSTRAINT "catalog_import_rejects_pkey" PRIMARY KEY ("import_id","number")
);

-- CreateTable
CREATE TABLE "classifier_history" (
    "spic" TEXT NOT NULL,
    "replaced_in" INTEGER NOT NULL,
    "entry" JSONB,

    CONSTRAINT "classifier_history_pkey" PRIMARY KEY ("replaced_in","spic")
);

-- CreateTable
CREATE TABLE "classifier_imports" (
    "id" SERIAL NOT NULL,
    "kind" TEXT NOT NULL,
    "source" TEXT NOT NULL,
    "state" "classifier_import_state" NOT NULL DEFAULT 'loading',
    "cursor" JSONB,
    "progress" JSONB NOT NULL DEFAULT '{}',
    "error" TEXT,
    "version" INTEGER,
    "result" JSONB,
    "started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "classifier_imports_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "classifier_drafts" (
    "import_id" INTEGER NOT NULL,
    "spic" TEXT NOT NULL,
    "entry" JSONB NOT NULL,

    CONSTRAINT "classifier_drafts_pkey" PRIMARY KEY ("import_id","spic")
);

-- CreateTable
CREATE TABLE "affected_products" (
    "merchant_id" TEXT NOT NULL,
    "version" INTEGER NOT NULL,
    "sku" TEXT NOT NULL,
    "spic" TEXT NOT NULL,
    "reasons" TEXT[],
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "affected_products_pkey" PRIMARY KEY ("merchant_id","version","sku")
);

-- CreateIndex
CREATE INDEX "product_keys_of_product" ON "product_keys"("merchant_id", "sku");

-- CreateIndex
CREATE INDEX "catalog_words_similar" ON "catalog_words" USING GIN ("word" gin_trgm_ops);

-- CreateIndex
CREATE INDEX "catalog_syncs_of_merchant" ON "catalog_syncs"("merchant_id", "id");

-- CreateIndex
CREATE INDEX "catalog_imports_of_merchant" ON "catalog_imports"("merchant_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "classifier_imports_version_key" ON "classifier_imports"("version");

-- CreateIndex
CREATE INDEX "classifier_imports_of_kind" ON "classifier_imports"("kind", "id");

-- CreateIndex
CREATE INDEX "classifier_entries_words" ON "classifier_entries" USING GIN ("word_keys");

-- CreateIndex
CREATE INDEX "classifier_entries_by_version" ON "classifier_entries"("version");

-- CreateIndex
CREATE INDEX "products_feed" ON "products"("merchant_id", "change_transaction", "change_position");

-- CreateIndex
CREATE INDEX "products_words" ON "products" USING GIN ("word_keys");

-- CreateIndex
CREATE INDEX "products_by_spic" ON "products"("spic");

-- What was there before had one barcode and one name.
UPDATE "products" SET "names" = jsonb_build_object('ru', "name"),
                      "barcodes" = CASE WHEN "barcode" IS NULL THEN ARRAY[]::TEXT[] ELSE ARRAY["barcode"] END;
