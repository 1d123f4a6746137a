CREATE INDEX CONCURRENTLY "events_of_subject" ON "events"("subject_id", "transaction_id", "position");
