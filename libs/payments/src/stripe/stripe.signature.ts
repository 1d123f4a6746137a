import { createHmac } from 'node:crypto';
import { isSameHex } from '../same-hex.js';

/** A captured call may be replayed for so long, and a clock may be wrong by so much, in either direction. */
export const STRIPE_TOLERANCE_SECONDS = 300;

/** Of one time and the body exactly as it came: HMAC-SHA256. */
export function stripeSignature(secret: string, { atSeconds, body }: { atSeconds: number; body: string }): string {
  return createHmac('sha256', secret)
    .update(`${String(atSeconds)}.${body}`)
    .digest('hex');
}

/** More of them than a secret that is being replaced has. */
const MAX_SIGNATURES = 8;

/** `t=…,v1=…`, with several `v1` while a secret is replaced: one of them has to fit. */
export function isStripeSigned(
  header: string | undefined,
  secret: string,
  { body, nowMs }: { body: string; nowMs: number },
): boolean {
  const fields = (header ?? '').split(',').slice(0, MAX_SIGNATURES + 1);
  const time = fields.find((field) => field.startsWith('t='))?.slice(2) ?? '';
  if (!/^\d{1,12}$/.test(time)) return false;
  const atSeconds = Number(time);
  if (Math.abs(nowMs / 1_000 - atSeconds) > STRIPE_TOLERANCE_SECONDS) return false;
  const expected = stripeSignature(secret, { atSeconds, body });
  const given = fields.filter((field) => field.startsWith('v1=')).map((field) => field.slice(3));
  return given.reduce((found, each) => isSameHex(expected, each) || found, false);
}
