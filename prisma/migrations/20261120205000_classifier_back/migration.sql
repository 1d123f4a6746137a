-- AlterTable
ALTER TABLE "classifier_imports" ADD COLUMN     "holds_fetching" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "reached_at" TIMESTAMPTZ(3),
ADD COLUMN     "restored_version" INTEGER;

-- The feed's next window began at the newest of these until now.
UPDATE "classifier_imports" i
   SET "reached_at" = (SELECT max(e."started_at") FROM "classifier_imports" e
                        WHERE e."state" = 'applied' AND e."kind" IN ('full', 'lines', 'changes')
                          AND e."finished_at" <= i."finished_at")
 WHERE i."state" = 'applied';
