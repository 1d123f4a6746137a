import type { ProblemDocument } from '#http';
import type { ReceiptView } from '../../apps/gateway/src/receipts/receipt-view.js';
import { apiDescription, type ApiDescriptionJudge } from '../api/api-document.js';
import type { TestMerchant } from './merchant.js';

export interface Answer {
  status: number;
  headers: Headers;
  /** A receipt or a problem document; each test asserts what it reads. */
  body: Partial<ReceiptView> & Partial<ProblemDocument>;
}

/** An ERP: gets a token, posts sales. Spreads its calls over all gateways. */
export class GatewayClient {
  private token: Promise<string> | null = null;
  private turn = 0;
  /** While gateways of two releases run, each answers as its own description says. */
  alsoDescribedBy: ApiDescriptionJudge | null = null;

  constructor(
    private readonly urls: readonly string[],
    readonly merchant: TestMerchant,
    private readonly timeoutMs = 90_000,
  ) {}

  /** A sale of one piece of catalogue goods by the till's cashier. */
  saleOf(till: number, more: Record<string, unknown> = {}): Record<string, unknown> {
    return {
      items: [{ name: this.merchant.goods[0], price: 112_000, qty: 1 }],
      payment: { method: 'cash' },
      cashier_id: this.merchant.tills[till]?.cashierId,
      ...more,
    };
  }

  post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.call('POST', path, {
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    });
  }

  get(path: string): Promise<Answer> {
    return this.call('GET', path, { headers: {} });
  }

  /** One token for all calls, fetched when first needed; a failed fetch is not kept. */
  authorization(): Promise<string> {
    this.token ??= this.fetchToken().catch((error: unknown) => {
      this.token = null;
      throw error;
    });
    return this.token.then((token) => `Bearer ${token}`);
  }

  /** The next call fetches a new one. */
  forgetToken(): void {
    this.token = null;
  }

  async call(method: string, path: string, init: { body?: string; headers: Record<string, string> }): Promise<Answer> {
    const authorization = await this.authorization();
    const response = await fetch(`${this.nextUrl()}${path}`, {
      method,
      ...(init.body === undefined ? {} : { body: init.body }),
      headers: { authorization, ...init.headers },
      signal: AbortSignal.timeout(this.timeoutMs),
    });
    const text = await response.text();
    const contentType = response.headers.get('content-type');
    const exchange = { method, path, status: response.status, contentType, text };
    if (this.alsoDescribedBy?.faultOf(exchange) !== null) apiDescription().assertDescribed(exchange);
    return {
      status: response.status,
      headers: response.headers,
      body: text === '' ? {} : (JSON.parse(text) as Answer['body']),
    };
  }

  async fetchToken(scope?: string): Promise<string> {
    const { clientId, clientSecret } = this.merchant;
    const response = await fetch(`${this.nextUrl()}/oauth/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', ...(scope ? { scope } : {}) }),
      signal: AbortSignal.timeout(this.timeoutMs),
    });
    if (!response.ok) throw new Error(`no token: ${response.status} ${await response.text()}`);
    const { access_token: token } = (await response.json()) as { access_token: string };
    return token;
  }

  private nextUrl(): string {
    this.turn += 1;
    return this.urls[this.turn % this.urls.length] ?? '';
  }
}
