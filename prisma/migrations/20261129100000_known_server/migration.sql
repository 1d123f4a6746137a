-- AlterTable
ALTER TABLE "database_identity" ADD COLUMN     "server_started" TIMESTAMPTZ(6);
