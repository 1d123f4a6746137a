-- CreateIndex
CREATE INDEX CONCURRENTLY "provider_callbacks_in_clear" ON "provider_callbacks"("id") WHERE (body IS NOT NULL);
