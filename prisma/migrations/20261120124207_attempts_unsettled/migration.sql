-- CreateIndex
CREATE INDEX "attempts_unsettled" ON "attempts"("id") WHERE (state = ANY (ARRAY['open'::attempt_state, 'unknown'::attempt_state]));
