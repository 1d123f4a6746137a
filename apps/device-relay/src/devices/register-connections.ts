import { createHash } from 'node:crypto';
import { growingCache } from '#runtime';
import { apiKeyOwner } from '#database';
import { isTestId } from '#fiscal-domain';
import { HttpTransport, LocalApiClient, type LocalApiTransport, type Opening, type TransportRequest } from '#local-api';
import { type OutgoingGuard } from '#outgoing';
import { open, type Keyring } from '#secrets';
import type { EmulatedRegisters } from '../emulated/emulated-register.js';
import { EmulatedTransport } from '../emulated/emulated-transport.js';
import type { LaneDevice, Registers } from './register.js';

/** Clients kept: all devices that one relay polls. An idle one holds no socket; one pushed out is made anew. */
const MAX_CLIENTS = 12_000;

interface Connection {
  fingerprint: string;
  client: LocalApiClient;
}

/** The way to registers that dial in. */
export interface LinkTransports {
  /** @param linkKeyId over no link but that of this key */
  transportTo(deviceId: string, linkKeyId: string | null): LocalApiTransport;
}

/** One client of the local API per device, over HTTP or its link, kept while address, key and deadlines stay the same. */
export class RegisterConnections implements Registers {
  private readonly connections = growingCache<string, Connection>(MAX_CLIENTS, {
    // One that was pushed out or replaced may have a sale on its way, which must not become unclear for that.
    dispose: ({ client }) => client.retire(),
  });

  constructor(
    private readonly keyring: Keyring,
    private readonly guard: OutgoingGuard,
    private readonly links: LinkTransports,
    /** Null: this program has none, and a sandbox's calls are not sent. */
    private readonly emulated: EmulatedRegisters | null = null,
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

  /** What a sandbox calls is decided by its merchant alone: no address and no link of its devices counts. */
  private transportTo({ id, merchantId, baseUrl, linkKeyId, profile }: LaneDevice): LocalApiTransport {
    if (isTestId(merchantId)) {
      return this.emulated ? new EmulatedTransport(this.emulated, { id, vatRule: profile.vatRule }) : NO_REGISTER;
    }
    return baseUrl === null ? this.links.transportTo(id, linkKeyId) : new GuardedTransport(baseUrl, this.guard);
  }
}

const NO_REGISTER: LocalApiTransport = {
  open: () => Promise.resolve({ kind: 'not_sent', reason: 'this program has no emulated registers' }),
  close: () => undefined,
  retire: () => undefined,
};

/** HTTP to addresses that the guard allows. Names are asked for anew at every connection, because they move. */
class GuardedTransport implements LocalApiTransport {
  private readonly http: HttpTransport;
  private readonly literalFault: string | null;

  constructor(baseUrl: string, guard: OutgoingGuard) {
    const url = new URL(baseUrl);
    this.http = new HttpTransport({ baseUrl, lookup: guard.lookupFor(url) });
    this.literalFault = guard.literalFault(url);
  }

  open(request: TransportRequest): Promise<Opening> {
    if (this.literalFault === null) return this.http.open(request);
    return Promise.resolve({ kind: 'not_sent', reason: this.literalFault });
  }

  close(): void {
    this.http.close();
  }

  retire(): void {
    this.http.retire();
  }
}

function fingerprintOf(device: LaneDevice): string {
  const { sendTimeoutMs, callTimeoutMs } = device.profile;
  return createHash('sha256')
    .update(JSON.stringify([device.baseUrl, device.linkKeyId, sendTimeoutMs, callTimeoutMs, device.profile.vatRule]))
    .update(device.apiKeySealed)
    .digest('base64');
}
