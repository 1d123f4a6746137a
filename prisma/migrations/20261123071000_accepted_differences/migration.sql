-- AlterTable
ALTER TABLE "payments" ADD COLUMN     "accepted_difference" JSONB;
