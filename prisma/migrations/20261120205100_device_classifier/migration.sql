-- AlterTable
ALTER TABLE "devices" ADD COLUMN     "classifier_is_old" BOOLEAN;
