/** Of what sends for a merchant: a receiver of webhooks, an account for messages. */
interface Sender {
  disabledAt: Date | null;
}

/** The columns that say whether it sends, and when. */
interface Sending {
  disabledAt?: Date | null;
  disabledReason?: string | null;
  dueAt?: Date | null;
  leaseUntil?: null;
  failingSince?: null;
  failures?: number;
  blockedUntil?: null;
}

/** Due at once, and old failures count no more. */
const ANEW = { dueAt: new Date(0), failingSince: null, failures: 0, blockedUntil: null };

/** What is to be written of a sender that was enabled or disabled; nothing where it was so already. Enabling begins anew. */
export function switched({ disabledAt }: Sender, enabled: boolean | undefined): Sending {
  if (enabled === undefined || enabled === (disabledAt === null)) return {};
  if (!enabled) return { disabledAt: new Date(), disabledReason: 'disabled by the merchant', dueAt: null };
  return { disabledAt: null, disabledReason: null, ...ANEW };
}

/**
 * The same of one that sends to another place, or with another key, from now on. The gateway that sends as before loses it: what it has under way
 * decides nothing any more. A disabled one stays so.
 */
export function setAnew({ disabledAt }: Sender): Sending {
  return { ...ANEW, leaseUntil: null, ...(disabledAt !== null && { dueAt: null }) };
}
