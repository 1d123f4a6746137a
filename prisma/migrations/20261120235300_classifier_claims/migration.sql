-- AlterTable
ALTER TABLE "classifier_entries" ADD COLUMN     "changed_at" TIMESTAMPTZ(3);

-- AlterTable
ALTER TABLE "classifier_imports" ADD COLUMN     "claims" INTEGER NOT NULL DEFAULT 1;
