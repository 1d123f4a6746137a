-- Every gateway reads this twice a second.
CREATE INDEX CONCURRENTLY "merchants_suspended" ON "merchants"("id") WHERE (suspended_at IS NOT NULL);
