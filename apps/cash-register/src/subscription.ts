import type { SubscriptionState } from '#fiscal-domain';

const DAY_MS = 24 * 60 * 60 * 1000;

export interface SubscriptionNow {
  readonly state: SubscriptionState;
  readonly expiresAt: Date;
  /** Whole days left, rounded down; 0 once expired. */
  readonly daysLeft: number;
}

/**
 * The state of the register's subscription at a moment: expired from the expiry on, expiring within the warning window.
 * @param warningDays length of the window before the expiry
 */
export function subscriptionAt(now: Date, expiresAt: Date, warningDays: number): SubscriptionNow {
  const leftMs = expiresAt.getTime() - now.getTime();
  const daysLeft = Math.max(0, Math.floor(leftMs / DAY_MS));
  if (leftMs <= 0) return { state: 'expired', expiresAt, daysLeft };
  return { state: leftMs <= warningDays * DAY_MS ? 'expiring' : 'active', expiresAt, daysLeft };
}

/** An emulator's state, with an expiry that agrees with it. */
export function emulatedSubscription(state: SubscriptionState, now: Date, warningDays: number): SubscriptionNow {
  const daysLeft = { expired: 0, expiring: warningDays, active: warningDays + 30 }[state];
  return { state, daysLeft, expiresAt: new Date(now.getTime() + daysLeft * DAY_MS) };
}

/** The headers of every response but that of /status (specification, "Authentication"). */
export function subscriptionHeaders({ state, expiresAt, daysLeft }: SubscriptionNow): Record<string, string> {
  return {
    'X-Subscription-Expires-At': expiresAt.toISOString(),
    'X-Subscription-Days-Left': String(daysLeft),
    'X-Subscription-State': state,
    ...(state === 'expiring' && { 'X-Subscription-Warning': 'true' }),
  };
}
