-- A merchant that the platform has suspended accepts nothing; what it has accepted is finished.
ALTER TABLE "merchants" ADD COLUMN "suspended_at" TIMESTAMPTZ(3),
  ADD COLUMN "suspended_reason" TEXT,
  ADD COLUMN "quotas" JSONB NOT NULL DEFAULT '{}';

-- What a merchant uses, by day of Tashkent. Gateways add to it in groups, one statement for all merchants; the rows are narrow and no
-- index has what changes, so that an update stays on its page.
CREATE TABLE "merchant_usage" (
    "merchant_id" TEXT NOT NULL,
    "day" DATE NOT NULL,
    "receipts" BIGINT NOT NULL DEFAULT 0,
    "storage_bytes" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "merchant_usage_pkey" PRIMARY KEY ("merchant_id","day")
) WITH (fillfactor = 70);

-- Which share of which quota was announced, once a day.
CREATE TABLE "quota_notices" (
    "merchant_id" TEXT NOT NULL,
    "quota" TEXT NOT NULL,
    "day" DATE NOT NULL,
    "percent" SMALLINT NOT NULL,

    CONSTRAINT "quota_notices_pkey" PRIMARY KEY ("merchant_id","quota","day","percent")
);
