-- AlterTable
ALTER TABLE "provider_callbacks" ADD COLUMN     "amount_tiyin" BIGINT,
ADD COLUMN     "body_sealed" BYTEA,
ADD COLUMN     "operation" TEXT,
ADD COLUMN     "payment_id" TEXT,
ADD COLUMN     "provider_ref" TEXT,
ADD COLUMN     "reference" TEXT,
ALTER COLUMN "body" DROP NOT NULL;
