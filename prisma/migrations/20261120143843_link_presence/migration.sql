-- AlterTable
ALTER TABLE "link_presences" ADD COLUMN     "disconnected_at" TIMESTAMPTZ(3);

-- ---------------------------------------------------------------------------------------------------------------------
-- What Prisma's schema language cannot say (docs/architecture.md lists it).

-- A link ends with the right to it, whoever takes that right away and by whatever path: the relay that holds the link
-- hears of it with the commit and reads the rows. Such changes are rare, so NOTIFY inside their transaction costs nobody.
CREATE FUNCTION tell_link_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('link_changed', CASE TG_TABLE_NAME WHEN 'devices' THEN to_jsonb(NEW) ->> 'id'
                                                       ELSE to_jsonb(NEW) ->> 'device_id' END);
  RETURN NULL;
END
$$;
CREATE TRIGGER devices_tell_link_changed AFTER UPDATE OF state, deleted_at, transport ON devices
  FOR EACH ROW WHEN (OLD.transport = 'link'
                     AND (NEW.transport <> 'link' OR NEW.deleted_at IS DISTINCT FROM OLD.deleted_at
                          OR (NEW.state = 'disabled' AND OLD.state <> 'disabled')))
  EXECUTE FUNCTION tell_link_changed();
CREATE TRIGGER link_keys_tell_link_changed AFTER UPDATE OF revoked_at ON link_keys
  FOR EACH ROW WHEN (NEW.revoked_at IS DISTINCT FROM OLD.revoked_at)
  EXECUTE FUNCTION tell_link_changed();
