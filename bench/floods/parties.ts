import type { GatewayClient } from '../../test/system/gateway-client.js';
import type { FloodRequest } from './flood.js';

/** Behind the trusted proxy: networks that are for documentation. */
export const FLOODER_ADDRESS = { 'x-forwarded-for': '198.51.100.7' };
export const OTHER_ADDRESS = { 'x-forwarded-for': '203.0.113.9' };
export const JSON_TYPE = { 'content-type': 'application/json' };

interface Places {
  gatewayUrl: string;
  relayUrl: string;
  /** Takes calls and never answers. */
  silentUrl: string;
  consoleOrigin: string;
}

interface Clients {
  /** Whose time is measured: registers that sell, an address of its own. */
  other: GatewayClient;
  /** Who floods. */
  flooder: GatewayClient;
  /** The flooder's second merchant: many registers that take calls and never answer. */
  silent: GatewayClient;
}

/** Both parties, what they can reach, and their requests, with the tokens of now. */
export class Parties {
  readonly other: GatewayClient;
  readonly flooder: GatewayClient;
  readonly silent: GatewayClient;
  readonly silentUrl: string;
  readonly consoleOrigin: string;

  private constructor(
    private readonly places: Places,
    { other, flooder, silent }: Clients,
    private readonly authorizations: ReadonlyMap<GatewayClient, string>,
    readonly soldByOther: { id: string },
    readonly soldByFlooder: { id: string },
  ) {
    this.other = other;
    this.flooder = flooder;
    this.silent = silent;
    this.silentUrl = places.silentUrl;
    this.consoleOrigin = places.consoleOrigin;
  }

  static async of(places: Places, clients: Clients): Promise<Parties> {
    const authorizations = new Map<GatewayClient, string>();
    for (const client of Object.values(clients) as GatewayClient[]) {
      authorizations.set(client, await client.authorization());
    }
    const [byOther, byFlooder] = [await sold(clients.other), await sold(clients.flooder)];
    return new Parties(places, clients, authorizations, byOther, byFlooder);
  }

  url(path: string): string {
    return `${this.places.gatewayUrl}${path}`;
  }

  linkUrl(deviceId: string): string {
    return `${this.places.relayUrl.replace('http', 'ws')}/link?device=${deviceId}`;
  }

  get(client: GatewayClient, path: string): FloodRequest {
    return { url: this.url(path), method: 'GET', headers: this.headersOf(client) };
  }

  post(client: GatewayClient, path: string, body: unknown, more: Record<string, string> = {}): FloodRequest {
    const headers = { ...this.headersOf(client), ...JSON_TYPE, ...more };
    return { url: this.url(path), method: 'POST', headers, body: JSON.stringify(body) };
  }

  private headersOf(client: GatewayClient): Record<string, string> {
    const address = client === this.other ? OTHER_ADDRESS : FLOODER_ADDRESS;
    return { authorization: this.authorizations.get(client) ?? '', ...address };
  }
}

async function sold(client: GatewayClient): Promise<{ id: string }> {
  const { status, body } = await client.post('/v1/receipts', client.saleOf(0), { prefer: 'wait=60' });
  if (status !== 201 || body.id === undefined) throw new Error(JSON.stringify(body));
  return { id: body.id };
}
