CREATE INDEX "attempts_found_late" ON "attempts"("id") WHERE (outcome ? 'found_late'::text);
