-- AlterTable
ALTER TABLE "provider_callbacks" ADD COLUMN     "amount_tiyin" BIGINT,
ADD COLUMN     "body_sealed" BYTEA,
ADD COLUMN     "operation" TEXT,
ADD COLUMN     "payment_id" TEXT,
ADD COLUMN     "provider_ref" TEXT,
ADD COLUMN     "reference" TEXT,
ALTER COLUMN "body" DROP NOT NULL;

-- CreateIndex
CREATE UNIQUE INDEX "provider_callbacks_reference_key" ON "provider_callbacks"("reference");

-- CreateIndex
CREATE INDEX "provider_callbacks_of_payment" ON "provider_callbacks"("payment_id") WHERE (payment_id IS NOT NULL);

-- CreateIndex
CREATE INDEX "provider_callbacks_in_clear" ON "provider_callbacks"("id") WHERE (body IS NOT NULL);

-- CreateIndex
CREATE INDEX "provider_callbacks_kept" ON "provider_callbacks"("received_at") WHERE (body_sealed IS NOT NULL);
