-- A chat that said /stop leaves its digest among the suppressed addresses and nothing else. Rows of before, which nothing reads.
DELETE FROM "bot_chats" WHERE "stopped_at" IS NOT NULL;
