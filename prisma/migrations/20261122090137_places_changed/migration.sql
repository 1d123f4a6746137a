-- What decides where a sale goes, other than what polls read: every gateway is notified with the commit and reads the rows again
-- (apps/gateway/src/devices/place-directory.ts). Such changes are rare, so NOTIFY inside their transaction costs nobody.
CREATE FUNCTION notify_places_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('places_changed', 'merchant:' || NEW.merchant_id);
  RETURN NULL;
END $$;

CREATE FUNCTION notify_device_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('places_changed', 'device:' || NEW.id);
  RETURN NULL;
END $$;

-- A cashier that is new is found at once: what is not there is not cached.
CREATE TRIGGER cashiers_notify_places_changed AFTER UPDATE ON cashiers
  FOR EACH ROW WHEN ((OLD.code, OLD.branch_id, OLD.default_device_id, OLD.archived_at)
                     IS DISTINCT FROM (NEW.code, NEW.branch_id, NEW.default_device_id, NEW.archived_at))
  EXECUTE FUNCTION notify_places_changed();
CREATE TRIGGER branches_notify_places_changed AFTER UPDATE ON branches
  FOR EACH ROW WHEN ((OLD.code, OLD.default_device_id, OLD.archived_at)
                     IS DISTINCT FROM (NEW.code, NEW.default_device_id, NEW.archived_at))
  EXECUTE FUNCTION notify_places_changed();
-- Sales that name it are cached as sales without a branch.
CREATE TRIGGER branches_notify_new_place AFTER INSERT ON branches
  FOR EACH ROW EXECUTE FUNCTION notify_places_changed();

-- Which devices a branch and a group have.
CREATE TRIGGER devices_notify_new_place AFTER INSERT ON devices
  FOR EACH ROW EXECUTE FUNCTION notify_places_changed();
CREATE TRIGGER devices_notify_places_changed AFTER UPDATE OF branch_id, group_id, registered_at, deleted_at ON devices
  FOR EACH ROW WHEN ((OLD.branch_id, OLD.group_id, OLD.registered_at IS NULL, OLD.deleted_at IS NULL)
                     IS DISTINCT FROM (NEW.branch_id, NEW.group_id, NEW.registered_at IS NULL, NEW.deleted_at IS NULL))
  EXECUTE FUNCTION notify_places_changed();
-- What each of them is.
CREATE TRIGGER devices_notify_device_changed
  AFTER UPDATE OF state, draining_since, branch_id, group_id, registered_at, deleted_at, transport, terminal_id, profile ON devices
  FOR EACH ROW WHEN ((OLD.state, OLD.draining_since, OLD.branch_id, OLD.group_id, OLD.registered_at IS NULL, OLD.deleted_at IS NULL,
                      OLD.transport, OLD.terminal_id IS NULL, OLD.profile ->> 'vatRule')
                     IS DISTINCT FROM
                     (NEW.state, NEW.draining_since, NEW.branch_id, NEW.group_id, NEW.registered_at IS NULL, NEW.deleted_at IS NULL,
                      NEW.transport, NEW.terminal_id IS NULL, NEW.profile ->> 'vatRule'))
  EXECUTE FUNCTION notify_device_changed();
