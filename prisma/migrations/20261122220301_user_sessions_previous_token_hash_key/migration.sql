CREATE UNIQUE INDEX CONCURRENTLY "user_sessions_previous_token_hash_key" ON "user_sessions"("previous_token_hash");
