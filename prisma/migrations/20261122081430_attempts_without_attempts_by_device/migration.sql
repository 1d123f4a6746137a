-- DropIndex
DROP INDEX CONCURRENTLY "attempts_by_device";
