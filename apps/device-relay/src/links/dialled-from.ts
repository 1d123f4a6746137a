import type { IncomingMessage } from 'node:http';
import { addressGroup, type CidrSet } from '#outgoing';

/** Longer chains of proxies are not read to their end. */
const MAX_HOPS = 16;

/**
 * The address that dials, as the unit of a share: behind trusted proxies the first address that is none of theirs, read from the
 * end of `X-Forwarded-For`. Everything before it is the caller's own word. What is no address shares one unit.
 */
export function dialledFrom({ headers, socket }: IncomingMessage, proxies: CidrSet): string {
  // A peer that has gone already has no address.
  let address = socket.remoteAddress ?? '';
  const hops = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',').slice(-MAX_HOPS);
  while (proxies.contains(address)) {
    const hop = hops.pop()?.trim() ?? '';
    if (hop === '') break;
    address = hop;
  }
  return addressGroup(address) ?? 'none';
}
