-- CreateIndex
CREATE INDEX CONCURRENTLY "provider_callbacks_kept" ON "provider_callbacks"("received_at") WHERE (body_sealed IS NOT NULL);
