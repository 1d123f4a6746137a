-- Which provider takes a payment that names none, and where it goes when that one does not answer.
CREATE TABLE "payment_routing" (
    "merchant_id" TEXT NOT NULL,
    "rules" JSONB NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "payment_routing_pkey" PRIMARY KEY ("merchant_id")
);

CREATE TABLE "provider_health" (
    "account_id" TEXT NOT NULL,
    "merchant_id" TEXT NOT NULL,
    "is_down" BOOLEAN NOT NULL,
    "since" TIMESTAMPTZ(3) NOT NULL,
    "failed_at" TIMESTAMPTZ(3) NOT NULL,
    "detail" TEXT NOT NULL,

    CONSTRAINT "provider_health_pkey" PRIMARY KEY ("account_id")
);
CREATE INDEX "provider_health_down" ON "provider_health"("failed_at") WHERE (is_down);

ALTER TABLE "payments" ADD COLUMN "alternatives" JSONB;
