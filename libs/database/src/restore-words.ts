/** `attempts.relay_id` of an attempt without a sending: it stands for what may have happened after a copy of the database. */
export const HELD_BY_RESTORE = 'restore';

/** `devices.state_reason` of a register that stands still because the database was put back from a copy. */
export const RESTORED = 'the database was put back from a copy: what was registered after the copy is not known here';

/** `database_identity.identity` from `restore begin` until a relay has compared it and held what has to be held. */
export const ANNOUNCED = 'announced';

/** Selects the row by which no lane may be taken: a person holds all, or a restore was announced. */
export const HOLD_OF_ALL_LANES = `
  SELECT FROM database_identity WHERE lanes_held_at IS NOT NULL OR identity = '${ANNOUNCED}'`;

/** `application_name` of the sessions that hold the lane locks of relays. */
export const LANE_LOCK_SESSIONS = 'device-relay-locks';
