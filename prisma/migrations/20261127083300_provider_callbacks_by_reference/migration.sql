-- In place of provider_callbacks_reference_key: references are random, and need not be unique over all months to be so.
CREATE INDEX CONCURRENTLY "provider_callbacks_by_reference" ON "provider_callbacks"("reference");
