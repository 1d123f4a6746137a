import { Api } from './api.js';
import { ConnectionError, ProblemError, UsageError } from './errors.js';
import { readOptions, type ClientOptions } from './options.js';
import { Events } from './resources/events.js';
import { Payments } from './resources/payments.js';
import { Products } from './resources/products.js';
import { Receipts } from './resources/receipts.js';
import { Webhooks } from './resources/webhooks.js';
import { Transport, type CallOptions } from './transport.js';

/**
 * A client of one gateway. Keep one for the life of the program: it shares its access token between all calls.
 * What has no method of its own is called by `request`, `list` and `download`, with the types of the description.
 */
export class FiscalGateway {
  readonly receipts: Receipts;
  readonly payments: Payments;
  readonly events: Events;
  readonly webhooks: Webhooks;
  readonly products: Products;
  readonly request: Api['request'];
  readonly list: Api['list'];
  readonly download: Api['download'];
  readonly upload: Api['upload'];
  private readonly api: Api;
  private readonly baseUrl: string;

  constructor(options: ClientOptions) {
    const settings = readOptions(options);
    const api = new Api(new Transport(settings));
    this.api = api;
    this.baseUrl = settings.baseUrl;
    this.receipts = new Receipts(api);
    this.payments = new Payments(api);
    this.events = new Events(api);
    this.webhooks = new Webhooks(api);
    this.products = new Products(api);
    this.request = api.request.bind(api);
    this.list = api.list.bind(api);
    this.download = api.download.bind(api);
    this.upload = api.upload.bind(api);
  }

  /** The customer's receipt behind `receipt_url`, without a token. The address must be one of this gateway. */
  async publicReceipt(
    receiptUrl: string,
    { format = 'text', lang }: { format?: 'html' | 'pdf' | 'png' | 'text'; lang?: 'ru' | 'uz' | 'en' } = {},
    options?: CallOptions,
  ): Promise<Response> {
    const url = new URL(receiptUrl, `${this.baseUrl}/`);
    const { pathname } = new URL(this.baseUrl);
    const path = url.pathname.slice(pathname === '/' ? 0 : pathname.length);
    if (!/^\/r\/[^/]+$/.test(path)) throw new UsageError('That is no receipt_url.');
    url.searchParams.set('format', format);
    if (lang !== undefined) url.searchParams.set('lang', lang);
    return (await this.api.open(path + url.search, 'response', options)) as Response;
  }

  /** Whether the gateway is there and can work, asked once. */
  async isReady(options?: CallOptions): Promise<boolean> {
    try {
      await this.api.open('/readyz', 'response', { ...options, retry: { attempts: 1 } });
      return true;
    } catch (error) {
      if (error instanceof ProblemError || error instanceof ConnectionError) return false;
      throw error;
    }
  }
}
