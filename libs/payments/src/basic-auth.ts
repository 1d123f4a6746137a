import { hash, timingSafeEqual } from 'node:crypto';

/** The Authorization header of HTTP Basic. */
export function basicAuthorization(login: string, password: string): string {
  return `Basic ${Buffer.from(`${login}:${password}`).toString('base64')}`;
}

/** Compares in constant time; every password of the list is tried, so that one can be changed without an outage. */
export function isBasicCaller(header: string | undefined, login: string, passwords: readonly string[]): boolean {
  if (header === undefined) return false;
  const given = digest(header.replace(/^basic\s+/i, 'Basic '));
  return passwords.reduce(
    (found, password) => timingSafeEqual(given, digest(basicAuthorization(login, password))) || found,
    false,
  );
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
