/**
 * NOTIFY channel on which a relay says, after its commit, which receipts have left the lane, and which lanes it has taken in hand.
 * Payload: ids of receipts and of devices joined by commas, at most SETTLED_IDS_PER_NOTICE (PostgreSQL bounds a payload to 8000 bytes).
 * Sent outside the transaction of the change on purpose: NOTIFY inside it would take one lock over the whole database
 * at every commit. A notice that is lost in between is healed by the reader's deadline.
 */
export const RECEIPT_SETTLED_CHANNEL = 'receipt_settled';
export const SETTLED_IDS_PER_NOTICE = 200;

/**
 * NOTIFY channel on which a gateway wakes the lanes of registers whose relay is awake. Payload: device ids joined by commas, at most
 * SETTLED_IDS_PER_NOTICE. The relay that takes one answers on RECEIPT_SETTLED_CHANNEL; not answered, or lost: the gateway uses the queue.
 */
export const LANE_WAKE_CHANNEL = 'lane_wake';

/** NOTIFY channel on which a gateway says that a device task waits. Payload: the task's id. Lost: relays also poll. */
export const DEVICE_TASK_CHANNEL = 'device_task';
/** NOTIFY channel on which a relay says that a device task is done. Payload: the task's id. Lost: the gateway reads at its deadline. */
export const DEVICE_TASK_DONE_CHANNEL = 'device_task_done';

/**
 * NOTIFY channel that says: the right to a register's link, or who holds it, has changed; read the rows. Payload: the
 * device's id. Sent by triggers of `devices` and `link_keys`, and by a relay that took a link over.
 */
export const LINK_CHANGED_CHANNEL = 'link_changed';

/**
 * NOTIFY channel on which a gateway says, after its commit, that goods have changed. Payload: the merchant's id, or `*`
 * for the classification register. Lost: what is cached is used for a few seconds only.
 */
export const CATALOG_CHANGED_CHANNEL = 'catalog_changed';

/**
 * NOTIFY channel that says: a client's keys or its signing policy have changed; read the rows. Payload: the client's id.
 * Sent by triggers of `client_keys` and `oauth_clients`. Lost: gateways use what is cached for seconds only.
 */
export const SIGNING_CHANGED_CHANNEL = 'signing_changed';

/**
 * NOTIFY channel that says: what a token or a client may do has changed; read the rows. Payload: `client:<id>` or
 * `token:<SHA-256, hex>`. Sent by triggers of `oauth_clients` and `oauth_tokens`.
 */
export const ACCESS_CHANGED_CHANNEL = 'access_changed';

/**
 * NOTIFY channel that says: where sales go has changed; read the rows. Payload: `merchant:<id>` (its cashiers, branches, and which
 * devices these have) or `device:<id>`. Sent by triggers of `cashiers`, `branches` and `devices`. Lost: what is cached is used for
 * seconds only.
 */
export const PLACES_CHANGED_CHANNEL = 'places_changed';
