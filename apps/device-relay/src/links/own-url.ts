import { networkInterfaces, type NetworkInterfaceInfo } from 'node:os';
import { SettingsError } from '#runtime';
import type { RelaySettings } from '../settings.js';

type Interfaces = Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>;

export type OwnUrl = { kind: 'one'; url: string } | { kind: 'several'; addresses: readonly string[] };

/**
 * Where other relays reach this one, when nothing says so: a host name is known to a pod itself but not to its neighbours, its
 * address is known to both. Loopback where the machine has no other address. Which of several addresses the others can reach,
 * the machine cannot know.
 */
export function ownUrlOf(interfaces: Interfaces, port: number): OwnUrl {
  const all = Object.values(interfaces).flatMap((addresses) => addresses ?? []);
  const outside = all.filter(({ internal, address }) => !internal && !isLinkLocal(address));
  const ofFamily = (family: 'IPv4' | 'IPv6'): string[] =>
    outside.filter((each) => each.family === family).map(({ address }) => address);
  const [v4, v6] = [ofFamily('IPv4'), ofFamily('IPv6').map((address) => `[${address}]`)];
  const addresses = v4.length > 0 ? v4 : v6;
  if (addresses.length > 1) return { kind: 'several', addresses };
  return { kind: 'one', url: `http://${addresses[0] ?? '127.0.0.1'}:${port}` };
}

function isLinkLocal(address: string): boolean {
  return address.startsWith('169.254.') || /^fe[89ab]/i.test(address);
}

/** Where other relays hand in calls for registers whose link this one holds. @throws SettingsError when RELAY_URL is not set, and the machine has several addresses */
export function relayUrlOf({ RELAY_URL, RELAY_PORT }: Pick<RelaySettings, 'RELAY_URL' | 'RELAY_PORT'>): string {
  if (RELAY_URL !== undefined) return RELAY_URL;
  const own = ownUrlOf(networkInterfaces(), RELAY_PORT);
  if (own.kind === 'one') return own.url;
  const fault = `must be set: other relays may reach only one of this machine's addresses (${own.addresses.join(', ')})`;
  throw new SettingsError([{ key: 'RELAY_URL', fault }]);
}
