import { apiOf, type Api } from './api.js';
import { ConnectionError, ProblemError, UsageError } from './errors.js';
import { readOptions, type AccessToken, type ClientOptions } from './options.js';
import { catalogOf, type Catalog } from './resources/catalog.js';
import { Events } from './resources/events.js';
import { paymentsOf, type Payments } from './resources/payments.js';
import { Receipts } from './resources/receipts.js';
import { resourcesOf, type Resource } from './resources/resource.js';
import { settlementsOf, type Settlements } from './resources/settlements.js';
import { webhooksOf, type Webhooks } from './resources/webhooks.js';
import { Transport, type CallOptions } from './transport.js';

/**
 * A client of one gateway. Keep one for the life of the program: it shares its access token between all calls.
 * Operations of a newer gateway are called by `request`, `list` and `download`.
 */
export class FiscalGateway {
  readonly receipts: Receipts;
  readonly payments: Payments;
  readonly events: Events;
  readonly webhooks: Webhooks;
  declare readonly products: Resource<'products'>;
  readonly catalog: Catalog;
  declare readonly classifier: Resource<'classifier'>;
  declare readonly devices: Resource<'devices'>;
  declare readonly branches: Resource<'branches'>;
  declare readonly cashiers: Resource<'cashiers'>;
  declare readonly groups: Resource<'groups'>;
  declare readonly merchant: Resource<'merchant'>;
  declare readonly messages: Resource<'messages'>;
  declare readonly messageAccounts: Resource<'messageAccounts'>;
  declare readonly suppressions: Resource<'suppressions'>;
  declare readonly clients: Resource<'clients'>;
  declare readonly audit: Resource<'audit'>;
  declare readonly reports: Resource<'reports'>;
  declare readonly overview: Resource<'overview'>;
  declare readonly onboarding: Resource<'onboarding'>;
  declare readonly platform: Resource<'platform'>;
  declare readonly users: Resource<'users'>;
  declare readonly invitations: Resource<'invitations'>;
  declare readonly me: Resource<'me'>;
  declare readonly operator: Resource<'operator'>;
  declare readonly providerAccounts: Resource<'providerAccounts'>;
  declare readonly paymentRouting: Resource<'paymentRouting'>;
  readonly settlements: Settlements;
  readonly request: Api['request'];
  readonly list: Api['list'];
  readonly download: Api['download'];
  readonly upload: Api['upload'];
  /** Fetches a token beside the one that the calls share: for use elsewhere, or to see whether the credentials are good. */
  readonly accessToken: () => Promise<AccessToken>;
  private readonly api: Api;
  private readonly baseUrl: string;

  constructor(options: ClientOptions) {
    const settings = readOptions(options);
    const transport = new Transport(settings);
    const api = apiOf(transport);
    this.accessToken = () => transport.tokens.ask();
    this.api = api;
    this.baseUrl = settings.baseUrl;
    // Those that have code of their own as well follow.
    Object.assign(this, resourcesOf(api));
    this.receipts = new Receipts(api);
    this.payments = paymentsOf(api);
    this.events = new Events(api);
    this.webhooks = webhooksOf(api);
    this.catalog = catalogOf(api);
    this.settlements = settlementsOf(api);
    this.request = api.request;
    this.list = api.list;
    this.download = api.download;
    this.upload = api.upload;
  }

  /** The customer's receipt behind `receipt_url`, without a token. The address must be one of this gateway. */
  async publicReceipt(
    receiptUrl: string,
    { format = 'text', lang }: { format?: 'html' | 'pdf' | 'png' | 'text' | 'escpos'; lang?: 'ru' | 'uz' | 'en' } = {},
    options?: CallOptions,
  ): Promise<Response> {
    const url = new URL(receiptUrl, `${this.baseUrl}/`);
    const { pathname } = new URL(this.baseUrl);
    const path = url.pathname.slice(pathname === '/' ? 0 : pathname.length);
    if (!/^\/r\/[^/]+$/.test(path)) throw new UsageError('That is no receipt_url.');
    url.searchParams.set('format', format);
    if (lang !== undefined) url.searchParams.set('lang', lang);
    return this.api.open(path + url.search, options);
  }

  /** Whether the gateway is there and can work, asked once. */
  async isReady(options?: CallOptions): Promise<boolean> {
    try {
      await this.api.open('/readyz', { ...options, retry: { attempts: 1 } });
      return true;
    } catch (error) {
      if (error instanceof ProblemError || error instanceof ConnectionError) return false;
      throw error;
    }
  }
}
