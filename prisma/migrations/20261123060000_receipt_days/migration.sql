-- CreateTable
CREATE TABLE "receipt_days" (
    "merchant_id" TEXT NOT NULL,
    "day" DATE NOT NULL,
    "sums" JSONB NOT NULL,
    "under_way_ids" TEXT[],

    CONSTRAINT "receipt_days_pkey" PRIMARY KEY ("merchant_id","day")
);
