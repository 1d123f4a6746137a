-- AlterTable
ALTER TABLE "payments" ADD COLUMN     "code" TEXT NOT NULL DEFAULT 'none';
