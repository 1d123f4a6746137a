-- Registers of payment providers, compared with payments and receipts.
CREATE TABLE "settlement_forms" (
    "merchant_id" TEXT NOT NULL,
    "provider" TEXT NOT NULL,
    "form" JSONB NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "settlement_forms_pkey" PRIMARY KEY ("merchant_id", "provider")
);

CREATE TABLE "settlements" (
    "id" TEXT NOT NULL,
    "merchant_id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "provider" TEXT NOT NULL,
    "format" TEXT NOT NULL,
    "day_from" DATE NOT NULL,
    "day_to" DATE NOT NULL,
    "report" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "settlements_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "settlements_of_merchant" ON "settlements"("merchant_id", "id");

CREATE TABLE "settlement_differences" (
    "settlement_id" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "kind" TEXT NOT NULL,
    "day" DATE,
    "payment_id" TEXT,
    "receipt_id" TEXT,
    "provider_ref" TEXT,
    "row" INTEGER,
    "ours_tiyin" BIGINT,
    "theirs_tiyin" BIGINT,
    "detail" TEXT NOT NULL,

    CONSTRAINT "settlement_differences_pkey" PRIMARY KEY ("settlement_id", "number")
);
