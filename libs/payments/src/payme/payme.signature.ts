import { hash, timingSafeEqual } from 'node:crypto';

/** The Authorization header that Payme sends to a merchant: Basic of `login:key`. */
export function paymeAuthorization(login: string, key: string): string {
  return `Basic ${Buffer.from(`${login}:${key}`).toString('base64')}`;
}

/** Compares in constant time; every key of the list is tried, so that one can be changed without an outage. */
export function isPaymeCaller(header: string | undefined, login: string, keys: readonly string[]): boolean {
  if (header === undefined) return false;
  const given = digest(header.replace(/^basic\s+/i, 'Basic '));
  return keys.reduce((found, key) => timingSafeEqual(given, digest(paymeAuthorization(login, key))) || found, false);
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
