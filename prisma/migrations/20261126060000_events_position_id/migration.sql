-- The primary key of events in partitions, of which the id, by which they are made, is part (20261126060300_event_partitions).
CREATE UNIQUE INDEX CONCURRENTLY "events_position_id" ON "events"("position", "id");
