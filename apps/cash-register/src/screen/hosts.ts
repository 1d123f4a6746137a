import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';

/**
 * Whether the Host header names this machine. A page of a stranger can point its own name at our address and then
 * talk to us as "its" site (DNS rebinding); it cannot make the browser send one of our names.
 * @param names further names from the settings, lower case
 */
export function isOwnHost(header: string | undefined, names: readonly string[]): boolean {
  const name = hostName(header);
  if (name === null) return false;
  if (isLoopbackName(name) || names.includes(name)) return true;
  return isIP(name) !== 0 && ownAddresses().includes(name);
}

export function isLoopbackName(name: string): boolean {
  return name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'));
}

/** Lower case, without port and brackets; `null` when it is not a host. */
export function hostName(header: string | undefined): string | null {
  const match = /^(?:\[([0-9a-f:.]{2,45})\]|([a-z0-9.-]{1,253}?)\.?)(?::\d{1,5})?$/i.exec(header ?? '');
  return (match?.[1] ?? match?.[2])?.toLowerCase() ?? null;
}

/** IP addresses of this machine, without zone. */
export function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((list) =>
    (list ?? []).map(({ address }) => (address.split('%')[0] ?? '').toLowerCase()),
  );
}

/** A socket's peer on this very machine. */
export function isLoopbackAddress(address: string | undefined): boolean {
  return address !== undefined && isLoopbackName(address.replace(/^::ffff:/i, ''));
}
