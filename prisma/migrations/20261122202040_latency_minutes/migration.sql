-- CreateTable
CREATE TABLE "latency_minutes" (
    "merchant_id" TEXT NOT NULL,
    "minute" TIMESTAMPTZ(3) NOT NULL,
    "bucket" SMALLINT NOT NULL,
    "count" INTEGER NOT NULL,
    "max_ms" INTEGER NOT NULL,

    CONSTRAINT "latency_minutes_pkey" PRIMARY KEY ("merchant_id","minute","bucket")
);

-- CreateIndex
CREATE INDEX "latency_minutes_old" ON "latency_minutes"("minute");

-- A row of the present minute is counted up every few seconds.
ALTER TABLE "latency_minutes" SET (fillfactor = 70);
