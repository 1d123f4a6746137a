-- AlterTable
ALTER TABLE "webhook_endpoints" ADD COLUMN     "batch_size" SMALLINT NOT NULL DEFAULT 1,
ADD COLUMN     "concurrency" SMALLINT NOT NULL DEFAULT 8;
