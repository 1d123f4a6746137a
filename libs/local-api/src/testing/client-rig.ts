import type { SaleAnswer } from '../answers.js';
import { LocalApiClient, type LocalApiClientOptions } from '../client.js';
import { MisbehavingServer, type Reaction } from './misbehaving-server.js';

/** What a register answers to a sale that it has registered. */
export const RECEIPT = {
  terminalId: 'ZZ000000000001',
  receiptSeq: 7,
  fiscalSign: '012345678901',
  qrUrl: 'https://ofd.soliq.uz/check?t=ZZ000000000001&r=7&c=20261120120000&s=012345678901',
  transactionTime: 1_795_158_000_000,
};
export const SALE = { success: true, receipt: RECEIPT, receiptHtml: '<p>чек</p>', ofdSent: true };
export const BODY = Buffer.from('{"type":"sale","items":[{"name":"Чой"}]}');

/** Clients and the servers they talk to; `end` after each test. */
export class ClientRig {
  private readonly servers: MisbehavingServer[] = [];
  private readonly clients: LocalApiClient[] = [];

  clientOf(baseUrl: string, options: Partial<LocalApiClientOptions> = {}): LocalApiClient {
    const client = new LocalApiClient({ baseUrl, apiKey: 'key-1', timeoutMs: 20_000, ...options });
    this.clients.push(client);
    return client;
  }

  async setUp(
    react: Reaction,
    options: Partial<LocalApiClientOptions> & { tls?: boolean } = {},
  ): Promise<{ server: MisbehavingServer; client: LocalApiClient }> {
    const { tls = false, ...clientOptions } = options;
    const server = new MisbehavingServer(react, { tls });
    this.servers.push(server);
    return { server, client: this.clientOf(await server.listen(), clientOptions) };
  }

  async end(): Promise<void> {
    for (const client of this.clients.splice(0)) client.close();
    await Promise.all(this.servers.splice(0).map((server) => server.close()));
  }
}

export async function sell(client: LocalApiClient, mayStillSend = (): boolean => true): Promise<SaleAnswer> {
  const preparation = await client.prepareReceipt(BODY, 'rcp_1');
  return preparation.kind === 'ready' ? preparation.call.send(mayStillSend) : preparation;
}
