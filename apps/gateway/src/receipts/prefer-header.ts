/** How long POST /v1/receipts waits for the register when the caller says nothing, seconds. */
export const DEFAULT_WAIT_SECONDS = 10;
/** Longer waits are cut to this: proxies in between give up as well. */
export const MAX_WAIT_SECONDS = 60;

/**
 * Seconds to wait for the fiscal receipt, from the Prefer header (RFC 7240): `wait=N`, `respond-async` = 0.
 * The RFC lets a server ignore what it does not understand, so an odd value means the default, not an error.
 */
export function waitSeconds(prefer: string | undefined): number {
  const preferences = (prefer ?? '').split(',').map((part) => part.trim().toLowerCase());
  const wait = preferences
    .map((part) => /^wait\s*=\s*"?(\d{1,6})"?$/.exec(part)?.[1])
    .find((text) => text !== undefined);
  if (wait !== undefined) return Math.min(Number(wait), MAX_WAIT_SECONDS);
  return preferences.some((part) => part === 'respond-async') ? 0 : DEFAULT_WAIT_SECONDS;
}
