-- AlterTable
ALTER TABLE "link_enrolments" ADD COLUMN     "api_key_sealed" BYTEA;

-- AlterTable
ALTER TABLE "link_presences" ADD COLUMN     "link_key_id" TEXT;
