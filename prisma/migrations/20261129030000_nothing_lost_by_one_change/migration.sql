-- AlterTable
ALTER TABLE "database_identity" ADD COLUMN     "changed_before" TIMESTAMPTZ(6),
ADD COLUMN     "nothing_lost_at" TIMESTAMPTZ(6);
