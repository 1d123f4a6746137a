-- A step-up gives the session a new secret. The one before it is known for seconds, for requests that are under way.
ALTER TABLE "user_sessions" ADD COLUMN "previous_token_hash" BYTEA,
  ADD COLUMN "renewed_at" TIMESTAMPTZ(3),
  ADD COLUMN "oidc_sid" TEXT;

-- As before, and the secret before the last step-up with the one of now: what ends a session ends both within a second.
CREATE OR REPLACE FUNCTION notify_person_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_TABLE_NAME = 'user_sessions' THEN
    PERFORM pg_notify('access_changed', 'session:' || encode(OLD.token_hash, 'hex'));
    IF OLD.previous_token_hash IS NOT NULL THEN
      PERFORM pg_notify('access_changed', 'session:' || encode(OLD.previous_token_hash, 'hex'));
    END IF;
  ELSIF TG_TABLE_NAME = 'users' THEN
    PERFORM pg_notify('access_changed', 'user:' || OLD.id);
  ELSIF TG_OP = 'INSERT' THEN
    PERFORM pg_notify('access_changed', 'user:' || NEW.user_id);
  ELSE
    PERFORM pg_notify('access_changed', 'user:' || OLD.user_id);
  END IF;
  RETURN NULL;
END
$$;
