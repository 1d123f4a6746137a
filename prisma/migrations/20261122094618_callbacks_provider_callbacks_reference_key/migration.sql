-- CreateIndex
CREATE UNIQUE INDEX CONCURRENTLY "provider_callbacks_reference_key" ON "provider_callbacks"("reference");
