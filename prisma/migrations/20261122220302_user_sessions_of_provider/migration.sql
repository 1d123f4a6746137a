CREATE INDEX CONCURRENTLY "user_sessions_of_provider" ON "user_sessions"("oidc_sid") WHERE (oidc_sid IS NOT NULL);
