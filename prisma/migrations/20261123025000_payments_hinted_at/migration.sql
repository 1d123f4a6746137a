-- AlterTable
ALTER TABLE "payments" ADD COLUMN     "hinted_at" TIMESTAMPTZ(3);
