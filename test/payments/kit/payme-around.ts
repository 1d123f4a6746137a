import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { payme, verdictOf } from '../provider-callers.js';
import { PRICE, type PaymentsFixture } from '../payments-fixture.js';

interface Asked {
  id: number;
  method: string;
  params: { id?: string; account?: unknown };
}
type Receipt = Record<string, unknown> & { _id: string };

const REFUSED = { error: { code: -31008, message: 'the merchant refuses' } };

/**
 * Payme's receipts for a cashbox that has a Merchant endpoint as well: around each receipt Payme calls the merchant, under the receipt's
 * id, and pays nothing that the merchant refuses.
 */
export class PaymeAround {
  url = '';
  /** It answers nothing but HTTP 503. */
  isAway = false;
  /** What is cancelled stays in its queue. */
  isQueued = false;
  /** What else happens at Payme while it is asked for the money. */
  meanwhile: () => Promise<void> = () => Promise.resolve();
  /** What the merchant said to Payme's calls: method, and state or code. */
  readonly said: [string, unknown][] = [];
  /** Made, by our reference. */
  readonly receipts = new Map<string, string>();
  private readonly accounts = new Map<string, unknown>();
  private readonly server: Server;

  constructor(private readonly fixture: PaymentsFixture) {
    this.server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        this.handle(Buffer.concat(chunks).toString('utf8'), String(request.headers['x-auth'])).then(
          (answer) => response.writeHead(answer === null ? 503 : 200).end(JSON.stringify(answer ?? {})),
          () => request.socket.destroy(),
        );
      });
    });
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${String((this.server.address() as AddressInfo).port)}/payme/api`;
  }

  stop(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }

  reset(): void {
    Object.assign(this, { isAway: false, isQueued: false, meanwhile: () => Promise.resolve() });
    this.said.length = 0;
  }

  /** A person in Payme's cabinet gives the money back. */
  async cancelled(ourRef: string): Promise<void> {
    const params = { id: this.receipts.get(ourRef) ?? '' };
    await this.handle(JSON.stringify({ id: 1, method: 'receipts.cancel', params }), 'box:payme-key');
  }

  /** A call of Payme's own. */
  async calls(method: string, params: object): Promise<unknown> {
    const verdict = verdictOf(await payme(this.fixture, method, params));
    this.said.push([method, verdict]);
    return verdict;
  }

  private async handle(body: string, auth: string): Promise<object | null> {
    if (this.isAway) return null;
    const asked = JSON.parse(body) as Asked;
    if (!(await this.isAllowed(asked))) return { jsonrpc: '2.0', id: asked.id, ...REFUSED };
    const headers = { 'content-type': 'application/json', 'x-auth': auth };
    const response = await fetch(`${this.fixture.simulatorUrl}/payme/api`, { method: 'POST', headers, body });
    const answer = (await response.json()) as { result?: { receipt?: Receipt } };
    const receipt = answer.result?.receipt;
    if (asked.method === 'receipts.create' && receipt) {
      this.accounts.set(receipt._id, asked.params.account);
      this.receipts.set(String(Object.values(asked.params.account as object)[0]), receipt._id);
    }
    if (asked.method === 'receipts.cancel' && this.said.some(([method]) => method === 'CreateTransaction'))
      await this.calls('CancelTransaction', { id: asked.params.id, reason: 5 });
    if (this.isQueued && receipt?.['state'] === 50) receipt['state'] = 21;
    return answer;
  }

  private async isAllowed({ method, params: { id } }: Asked): Promise<boolean> {
    const order = { amount: PRICE, account: this.accounts.get(id ?? '') };
    switch (method) {
      case 'receipts.pay':
        await this.calls('CheckPerformTransaction', order);
        await this.meanwhile();
        return (await this.calls('CreateTransaction', { id, time: Date.now(), ...order })) === 1;
      case 'receipts.confirm_hold':
        return (await this.calls('PerformTransaction', { id })) === 2;
      default:
        return true;
    }
  }
}
