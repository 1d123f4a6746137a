import { createHash } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import { apiKeyOwner } from '#database';
import { HttpTransport, LocalApiClient, type LocalApiTransport, type Opening, type TransportRequest } from '#local-api';
import { open, type CidrSet, type Keyring } from '#runtime';
import type { LaneDevice, Registers } from '../lanes/ports.js';

/** Clients kept: all devices that one relay polls. An idle one holds no socket; one pushed out is made anew. */
const MAX_CLIENTS = 12_000;

interface Connection {
  fingerprint: string;
  client: LocalApiClient;
}

/** The way to registers that dial in. */
export interface LinkTransports {
  transportTo(deviceId: string): LocalApiTransport;
}

/** One client of the local API per device, over HTTP or its link, kept while address, key and deadlines stay the same. */
export class RegisterConnections implements Registers {
  private readonly connections = new LRUCache<string, Connection>({
    max: MAX_CLIENTS,
    // One that was pushed out or replaced may have a sale on its way, which must not become unclear for that.
    dispose: ({ client }) => client.retire(),
  });

  constructor(
    private readonly keyring: Keyring,
    private readonly allowed: CidrSet,
    private readonly links: LinkTransports,
  ) {}

  of(device: LaneDevice): LocalApiClient {
    const fingerprint = fingerprintOf(device);
    const known = this.connections.get(device.id);
    if (known?.fingerprint === fingerprint) return known.client;
    const { sendTimeoutMs, callTimeoutMs } = device.profile;
    const apiKey = open(device.apiKeySealed, apiKeyOwner(device.id), this.keyring);
    const transport = this.transportTo(device);
    const client = new LocalApiClient({ transport, apiKey, timeoutMs: sendTimeoutMs, callTimeoutMs });
    this.connections.set(device.id, { fingerprint, client });
    return client;
  }

  close(): void {
    for (const { client } of this.connections.values()) client.close();
    this.connections.clear();
  }

  private transportTo({ id, baseUrl }: LaneDevice): LocalApiTransport {
    return baseUrl === null ? this.links.transportTo(id) : new AllowedTransport(baseUrl, this.allowed);
  }
}

/** HTTP to addresses inside DEVICE_ALLOWED_CIDRS only; asked anew at every call, because names move. */
class AllowedTransport implements LocalApiTransport {
  private readonly http: HttpTransport;
  private readonly hostname: string;

  constructor(
    baseUrl: string,
    private readonly allowed: CidrSet,
  ) {
    this.http = new HttpTransport({ baseUrl });
    this.hostname = new URL(baseUrl).hostname.replace(/^\[|\]$/g, '');
  }

  async open(request: TransportRequest): Promise<Opening> {
    const reason = await this.forbiddenReason();
    return reason === null ? this.http.open(request) : { kind: 'not_sent', reason };
  }

  close(): void {
    this.http.close();
  }

  retire(): void {
    this.http.retire();
  }

  private async forbiddenReason(): Promise<string | null> {
    const { hostname, allowed } = this;
    if (isIP(hostname)) return allowed.contains(hostname) ? null : 'the address is outside DEVICE_ALLOWED_CIDRS';
    try {
      const addresses = await lookup(hostname, { all: true });
      return addresses.every(({ address }) => allowed.contains(address))
        ? null
        : 'the name leads outside DEVICE_ALLOWED_CIDRS';
    } catch {
      // A name that does not resolve is an unreachable device, nothing more.
      return 'the name does not resolve';
    }
  }
}

function fingerprintOf(device: LaneDevice): string {
  const { sendTimeoutMs, callTimeoutMs } = device.profile;
  return createHash('sha256')
    .update(JSON.stringify([device.baseUrl, sendTimeoutMs, callTimeoutMs]))
    .update(device.apiKeySealed)
    .digest('base64');
}
