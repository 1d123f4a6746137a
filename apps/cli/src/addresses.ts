import { isIP } from 'node:net';

/** Scheme, host and port. What is no address has no origin but itself. */
export function isSameOrigin(one: string, other: string): boolean {
  return originOf(one) === originOf(other);
}

/** What is sent there can be read on the way: http to a host that is not this machine. */
export function isReadableOnTheWay(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname } = new URL(address);
  return protocol === 'http:' && !isLoopback(hostname);
}

function originOf(address: string): string {
  return URL.canParse(address) ? new URL(address).origin : address;
}

function isLoopback(hostname: string): boolean {
  const bare = hostname.replace(/^\[|\]$/g, '');
  return bare === 'localhost' || bare === '::1' || (isIP(bare) === 4 && bare.startsWith('127.'));
}
