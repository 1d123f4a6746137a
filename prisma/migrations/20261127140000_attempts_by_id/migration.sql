-- In place of attempts_pkey: the key of attempts in partitions is that of their receipt (20261127140300_attempt_partitions).
CREATE INDEX CONCURRENTLY "attempts_by_id" ON "attempts"("id");
