import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ConsoleAddress } from './console-address.js';

/** `__Host-`: no other host, and nothing without TLS, can set it. Browsers refuse the prefix over http. */
export function cookieName(name: 'fgw_session' | 'fgw_login', { isSecure }: ConsoleAddress): string {
  return isSecure ? `__Host-${name}` : name;
}

export interface CookieOptions {
  sameSite: 'Strict' | 'Lax';
  /** 0 ends it. */
  maxAgeSeconds: number;
}

/** @param value of our own making: no character that a cookie cannot hold */
export function setCookie(
  reply: FastifyReply,
  address: ConsoleAddress,
  cookie: { name: 'fgw_session' | 'fgw_login'; value: string } & CookieOptions,
): void {
  const { name, value, sameSite, maxAgeSeconds } = cookie;
  const secure = address.isSecure ? '; Secure' : '';
  const text = `${cookieName(name, address)}=${value}; Path=/; HttpOnly; SameSite=${sameSite}; Max-Age=${maxAgeSeconds}${secure}`;
  const before = reply.getHeader('set-cookie');
  void reply.removeHeader('set-cookie');
  for (const one of [...[before ?? []].flat(), text]) void reply.header('set-cookie', one);
}

/**
 * All values of a cookie. More than one of a name: another page of this host, or of one above it, has set its own, and the order
 * says nothing about which is ours.
 */
export function cookieValues(request: FastifyRequest, name: string): string[] {
  const header = request.headers.cookie;
  if (header === undefined) return [];
  return header.split(';').flatMap((pair) => {
    const at = pair.indexOf('=');
    return at > 0 && pair.slice(0, at).trim() === name ? [pair.slice(at + 1).trim()] : [];
  });
}
