-- AlterTable
ALTER TABLE "payments" ADD COLUMN     "fiscal_documents" JSONB,
ADD COLUMN     "fiscal_mode" TEXT NOT NULL DEFAULT 'gateway',
ADD COLUMN     "lines_submitted_at" TIMESTAMPTZ(3);
