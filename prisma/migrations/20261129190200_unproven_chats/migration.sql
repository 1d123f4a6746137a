-- Of a chat that has proven no number nothing is kept. Rows of before, which nothing reads.
DELETE FROM "bot_chats" WHERE "phone_hash" IS NULL;
