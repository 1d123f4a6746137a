-- AlterTable
ALTER TABLE "receipts" ADD COLUMN     "extra_info" JSONB;
