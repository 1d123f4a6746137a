import { DEFINITIONS } from './registry.js';

/** Hosts of the providers' production and test environments, as their documents name them. */
export const PROVIDER_HOSTS = Object.values(DEFINITIONS)
  .flatMap(({ hosts }) => hosts)
  .join(',');

const ENTRY = /^([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::([1-9]\d{0,4}|\*))?$/;
const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/** Where secrets of provider accounts may go. The merchant names an address, the operator says which hosts are providers. */
export class ProviderHosts {
  /** @param entries `host:port`, `host:*`, and `host:` for the port of the scheme */
  constructor(private readonly entries: ReadonlySet<string>) {}

  has({ hostname, port, protocol }: URL): boolean {
    const ports = port === '' ? ['', DEFAULT_PORTS[protocol] ?? ''] : [port];
    return [...ports, '*'].some((one) => this.entries.has(`${hostname}:${one}`));
  }
}

/**
 * Reads `checkout.paycom.uz,127.0.0.1:8757,sandbox.example:*`. Without a port: that of the scheme.
 * @throws Error whose message completes "… must be …"
 */
export function parseProviderHosts(text: string): ProviderHosts {
  return new ProviderHosts(new Set(text.split(',').map((entry) => readEntry(entry.trim()))));
}

function readEntry(entry: string): string {
  const [, host, port = ''] = ENTRY.exec(entry) ?? [];
  if (host === undefined) throw new Error('a list of hosts such as checkout.paycom.uz,10.0.0.5:8757');
  return `${host.toLowerCase()}:${port}`;
}
