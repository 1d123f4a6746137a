-- AlterTable
ALTER TABLE "receipts" ADD COLUMN     "recorded_fields" TEXT[] DEFAULT ARRAY[]::TEXT[],
ADD COLUMN     "shift_number" INTEGER;
