-- AlterTable
ALTER TABLE "payments" ADD COLUMN     "delivered_at" TIMESTAMPTZ(3);
