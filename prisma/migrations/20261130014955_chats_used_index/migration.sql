-- CreateIndex
CREATE INDEX CONCURRENTLY "bot_chats_used" ON "bot_chats"("used_at");
