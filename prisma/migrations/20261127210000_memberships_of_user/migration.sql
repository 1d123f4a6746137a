-- What a person may do is read at each of its requests. The two unique indexes are of one kind each, so that neither serves a question for both:
-- before PostgreSQL 18 all memberships were read.
CREATE INDEX CONCURRENTLY "memberships_of_user" ON "memberships"("user_id");
