-- AlterTable
ALTER TABLE "payment_refunds" ADD COLUMN "called_at" TIMESTAMPTZ(3);
