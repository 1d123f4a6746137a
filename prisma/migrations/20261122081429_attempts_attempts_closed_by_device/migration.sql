-- CreateIndex
CREATE INDEX CONCURRENTLY "attempts_closed_by_device" ON "attempts"("device_id", "id") WHERE (state <> 'open'::attempt_state);
