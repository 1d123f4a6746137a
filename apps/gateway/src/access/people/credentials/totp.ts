import { createHmac, timingSafeEqual } from 'node:crypto';

/** RFC 6238 as every authenticator app has it: SHA-1, 30 seconds, six digits. */
const STEP_SECONDS = 30;
const DIGITS = 6;
const SECRET_BYTES = 20;
/** A clock may be off by as many steps, either way. */
const DRIFT_STEPS = 1;
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** A secret that can be shown again: the same key and subject always give it. */
export function derivedTotpSecret(key: Buffer, subject: string): string {
  return base32(createHmac('sha256', key).update(subject).digest().subarray(0, SECRET_BYTES));
}

/** What an authenticator app reads from a QR code. */
export function otpauthUrl(secret: string, { issuer, account }: { issuer: string; account: string }): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(account)}`;
  return `otpauth://totp/${label}?secret=${secret}&issuer=${encodeURIComponent(issuer)}`;
}

export function totpAt(secret: string, seconds: number): string {
  return codeOf(decoded(secret), Math.floor(seconds / STEP_SECONDS));
}

/**
 * The time step that a code belongs to; null: to none near `seconds`. All candidates are compared, whether one has fitted
 * or not.
 */
export function totpStep(secret: string, code: string, seconds: number): number | null {
  const key = decoded(secret);
  const now = Math.floor(seconds / STEP_SECONDS);
  const given = Buffer.from(code.padEnd(DIGITS).slice(0, DIGITS));
  let found: number | null = null;
  for (let step = now - DRIFT_STEPS; step <= now + DRIFT_STEPS; step += 1)
    if (timingSafeEqual(given, Buffer.from(codeOf(key, step))) && code.length === DIGITS) found = step;
  return found;
}

function codeOf(key: Buffer, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const hash = createHmac('sha1', key).update(counter).digest();
  const offset = (hash.at(-1) ?? 0) & 0x0f;
  const number = hash.readUInt32BE(offset) & 0x7fff_ffff;
  return String(number % 10 ** DIGITS).padStart(DIGITS, '0');
}

function base32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{5}/g) ?? []).map((five) => BASE32[Number.parseInt(five, 2)] ?? '').join('');
}

function decoded(text: string): Buffer {
  const bits = [...text].map((char) => BASE32.indexOf(char).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}
