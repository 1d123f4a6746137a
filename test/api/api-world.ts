import { newId } from '#runtime';
import { OperatorFixture } from '../../apps/gateway/src/operator/testing/operator-fixture.js';
import type { GatewaySettings } from '../../apps/gateway/src/settings.js';
import { SCOPES } from '../../apps/gateway/src/http/scopes.js';
import { ReceiptUrls } from '../../apps/gateway/src/receipts/receipt-url.js';
import { apiDescription, type Endpoint } from './api-document.js';
import { sampleOf } from './arbitrary-of.js';

export interface ApiAnswer {
  status: number;
  headers: Headers;
  text: string;
  /** Of a problem document. */
  code: string | null;
}

/**
 * How an object of a merchant comes to be, by the part of the path that its id follows. A route with an id of something
 * that is not here fails the matrices: add it, so that another merchant's is tried there.
 */
const OBJECTS: Readonly<Record<string, (gateway: OperatorFixture) => Promise<string>>> = {
  devices: async (gateway) => (await gateway.createDevice()).deviceId,
  receipts: async (gateway) => {
    const device = await gateway.createDevice();
    const fiscal = { receiptSeq: 7, sign: '123456789012' };
    return gateway.createReceipt(gateway.merchantId, device, { status: 'registered', fiscal });
  },
  /** The token in a receipt's public address. */
  r: async (gateway) => {
    const id = await gateway.createReceipt(gateway.merchantId, await gateway.createDevice(), { status: 'accepted' });
    return gateway.app.get(ReceiptUrls, { strict: false }).urlOf(id).split('/').pop() ?? '';
  },
  attempts: async (gateway) => (await gateway.createAttempt()).attemptId,
  branches: (gateway) => Promise.resolve(gateway.merchantId.replace('mer_', 'brn_')),
  cashiers: (gateway) => created(gateway, '/v1/cashiers', { code: 'c', name: 'C', branch_id: 'main' }),
  products: async (gateway) => {
    const product = { sku: 'sku-of-mine', name: 'Non', spic: '01905001001000001', package_code: '1500001', price: 100 };
    await put(gateway, '/v1/catalog/products', { products: [product] });
    return product.sku;
  },
  clients: aClient,
  keys: async (gateway) => {
    const body = { name: 'K', algorithm: 'hmac-sha256' };
    return created(gateway, `/v1/clients/${await aClient(gateway)}/keys`, body);
  },
  imports: async (gateway) => {
    const id = newId('imp');
    await gateway.prisma.$executeRaw`
      INSERT INTO catalog_imports (id, merchant_id, format, mode, state, finished_at)
      VALUES (${id}, ${gateway.merchantId}, 'csv', 'upsert', 'done', now())`;
    return id;
  },
  /** Of the platform alone. */
  merchants: (gateway) => Promise.resolve(gateway.merchantId),
  /** Belongs to no client. */
  problems: () => Promise.resolve('required'),
  /** A screen of the console: the same page for all. */
  console: () => Promise.resolve('receipts'),
  /** Belongs to no client, and is in no register. */
  classifier: () => Promise.resolve('00000000000000000'),
  users: async (gateway) => {
    const userId = newId('usr');
    await gateway.prisma.user.create({ data: { id: userId, email: `${userId}@shop.uz`, name: 'U' } });
    const membership = { id: newId('mem'), userId, merchantId: gateway.merchantId };
    await gateway.prisma.membership.create({ data: { ...membership, role: 'owner' } });
    return userId;
  },
  invitations: (gateway) => created(gateway, '/v1/invitations', { email: 'invited@shop.uz', roles: ['support'] }),
  /** Of no user: a client of the API has none of them. */
  sessions: () => Promise.resolve(newId('ses')),
  approvals: () => Promise.resolve(newId('apr')),
  passkeys: () => Promise.resolve(newId('psk')),
  webhooks: (gateway) => created(gateway, '/v1/webhooks', { url: 'https://8.8.8.8/hook' }),
  deliveries: aDelivery,
  'provider-accounts': anAccount,
  'message-accounts': (gateway) =>
    created(gateway, '/v1/message-accounts', {
      provider: 'playmobile',
      settings: { login: 'shop', password: 'secret-of-the-shop', originator: '3700' },
    }),
  suppressions: (gateway) => created(gateway, '/v1/suppressions', { channel: 'sms', address: '+998901234567' }),
  /** Tokens of what no message and no account is. */
  m: () => Promise.resolve('x'),
  u: () => Promise.resolve('x'),
  payments: async (gateway) => {
    const id = newId('pay');
    const receiptId = await gateway.createReceipt(gateway.merchantId, await gateway.createDevice(), {
      status: 'accepted',
    });
    await gateway.prisma.$executeRaw`
      INSERT INTO payments (id, merchant_id, account_id, receipt_id, provider, flow, state, amount_tiyin, expires_at)
      SELECT ${id}, merchant_id, id, ${receiptId}, provider, 'inbound', 'declined', 100, now()
        FROM provider_accounts WHERE merchant_id = ${gateway.merchantId}`;
    return id;
  },
  settlements: async (gateway) => {
    const id = newId('stl');
    await gateway.prisma.$executeRaw`
      INSERT INTO settlements (id, merchant_id, account_id, provider, format, day_from, day_to, report)
      SELECT ${id}, merchant_id, id, provider, 'csv', '2026-01-01', '2026-01-01', '{"rows":0,"left_out":0,"differences":{},"days":[]}'
        FROM provider_accounts WHERE merchant_id = ${gateway.merchantId} LIMIT 1`;
    return id;
  },
  /** Of no provider: each merchant has its own form of every one. */
  'settlement-forms': () => Promise.resolve('paypal'),
  syncs: (gateway) => created(gateway, '/v1/catalog/syncs', {}),
  groups: (gateway) => created(gateway, '/v1/groups', { code: 'g', name: 'G' }),
  tasks: async (gateway) => {
    const [id, { deviceId }] = [newId('tsk'), await gateway.createDevice()];
    await gateway.prisma.$executeRaw`
      INSERT INTO device_tasks (id, device_id, kind, actor, expires_at, state)
      VALUES (${id}, ${deviceId}, 'check', 'x', now(), 'done')`;
    return id;
  },
};

const CASH_SALE = { items: [{ name: 'Non', price: 1, qty: 1 }], payment: { method: 'cash' }, cashier_id: 'c' };

/** Bodies that must be right in more than their shape to come as far as the id. */
const BODIES: Readonly<Record<string, unknown>> = {
  'PUT /v1/catalog/products': { products: [{}] },
  'PUT /v1/catalog/syncs/{id}/products': { products: [{}] },
  'PATCH /v1/users/{id}': { roles: ['support'] },
  'POST /v1/clients': { name: 'C', scopes: ['clients:admin'], ip_policy: 'any' },
  'POST /v1/receipts': CASH_SALE,
  'POST /v1/receipts/validate': CASH_SALE,
  'POST /v1/webhooks/{id}/recover': { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' },
  'POST /v1/webhooks/{id}/replay': { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' },
  'POST /v1/clients/{id}/keys': { name: 'K', algorithm: 'hmac-sha256' },
  'PATCH /v1/catalog/products/{sku}': { name: 'Mine' },
  'POST /v1/operator/payments/{id}/document': {
    document: 'sale',
    verification_url: 'https://ofd.soliq.uz/check?t=UZ000000000001&r=1&c=20260102080405&s=012345678901',
    reason: 'seen in the cabinet',
  },
  'POST /v1/operator/attempts/{id}/resolve': { decision: 'not_registered', reason: 'checked at the register' },
};

/** The gateway as it runs, a merchant with one of everything, and requests made from the API's description. */
export class ApiWorld {
  readonly ids = new Map<string, string>();

  private constructor(
    readonly gateway: OperatorFixture,
    readonly allScopes: string,
  ) {}

  static async start(settings: Partial<GatewaySettings> = {}): Promise<ApiWorld> {
    const gateway = await OperatorFixture.start(settings);
    const world = new ApiWorld(gateway, await gateway.createToken(gateway.merchantId, [...SCOPES]));
    gateway.token = world.allScopes;
    try {
      for (const [segment, create] of Object.entries(OBJECTS)) world.ids.set(segment, await create(gateway));
    } catch (error) {
      await gateway.stop();
      throw error;
    }
    return world;
  }

  stop(): Promise<void> {
    return this.gateway.stop();
  }

  endpoints(): Endpoint[] {
    return apiDescription().endpoints();
  }

  token(scopes: readonly string[], merchantId = this.gateway.merchantId): Promise<string> {
    return this.gateway.createToken(merchantId, [...scopes]);
  }

  /** The path with this merchant's ids, or with such that no merchant has. */
  pathOf({ path }: Endpoint, whose: 'own' | 'missing'): string {
    const account = path.replace('{provider}/{account}', `payme/${this.ids.get('provider-accounts')}`);
    const guide = account.replace('guide/{path}', 'guide/no-such-page');
    const named = guide.replace('{operation}', 'check').replace('{screen}', 'receipts');
    return named.replaceAll(/([^/]+)\/\{\w+\}/g, (_all, segment: string) => {
      const own = this.ids.get(segment);
      if (own === undefined) throw new Error(`${path}: test/api/api-world.ts knows no object of ${segment}`);
      return `${segment}/${whose === 'own' ? own : sameKindOf(own)}`;
    });
  }

  /** A body that the description allows; undefined where none is taken. */
  bodyOf({ method, path, operation }: Endpoint): unknown {
    const schema = operation.requestBody?.content['application/json']?.schema;
    return schema ? (BODIES[`${method} ${path}`] ?? sampleOf(schema)) : undefined;
  }

  /** Every answer is held against the description. */
  async send(
    method: string,
    path: string,
    more: { token?: string | undefined; body?: unknown; headers?: Record<string, string>; raw?: string } = {},
  ): Promise<ApiAnswer> {
    const { token, body, raw } = more;
    const headers: Record<string, string> = { prefer: 'respond-async', ...more.headers };
    if (token !== undefined) headers['authorization'] = `Bearer ${token}`;
    const content = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    if (content !== undefined) headers['content-type'] ??= 'application/json';
    const init = { method, headers, redirect: 'manual' as const, signal: AbortSignal.timeout(60_000) };
    const response = await fetch(`${this.gateway.base}${path}`, {
      ...init,
      ...(content !== undefined && { body: content }),
    });
    const contentType = response.headers.get('content-type');
    const text = await textOf(response);
    if (method !== 'HEAD')
      apiDescription().assertDescribed({ method, path, status: response.status, contentType, text });
    const isProblem = contentType?.startsWith('application/problem+json') ?? false;
    const code = isProblem ? (JSON.parse(text) as { code: string }).code : null;
    return { status: response.status, headers: response.headers, text, code };
  }
}

/** A stream has no end: its head alone counts here. */
async function textOf(response: Response): Promise<string> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response.text();
  await response.body?.cancel();
  return '';
}

/** Of the webhook that was made before. */
async function aDelivery({ prisma, merchantId }: OperatorFixture): Promise<string> {
  const id = newId('dlv');
  await prisma.$executeRaw`
    WITH its AS (
      INSERT INTO events (id, merchant_id, type, subject_id, data)
      VALUES (${newId('evt')}, ${merchantId}, 'device.online', 'dev_1', '{}') RETURNING *
    )
    INSERT INTO webhook_deliveries (id, merchant_id, endpoint_id, event_position, event_id, type, subject_id, url, state, finished_at)
    SELECT ${id}, w.merchant_id, w.id, its.position, its.id, its.type, its.subject_id, w.url, 'delivered', now()
      FROM its, webhook_endpoints w WHERE w.merchant_id = ${merchantId} LIMIT 1`;
  return id;
}

/** An id of the same form that no object has. */
function sameKindOf(id: string): string {
  const kind = id.slice(0, 3);
  return /^[a-z]{3}_[0-9a-z]{26}$/.test(id) ? `${kind}_${newId('rcp').slice(4)}` : `${id.slice(0, 8)}-missing`;
}

function anAccount(gateway: OperatorFixture): Promise<string> {
  const body = { provider: 'payme', name: 'Payme', settings: { cashbox_id: 'cashbox', key: 'a-key' } };
  return created(gateway, '/v1/provider-accounts', body);
}

/** One that asks for nothing here: a key of its own may oblige it to sign. */
async function aClient(gateway: OperatorFixture): Promise<string> {
  await gateway.createToken(gateway.merchantId, ['receipts:read']);
  const { id } = await gateway.prisma.oauthClient.findFirstOrThrow({ orderBy: { id: 'desc' } });
  return id;
}

async function put(gateway: OperatorFixture, path: string, body: unknown): Promise<void> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${gateway.token}` };
  const response = await fetch(`${gateway.base}${path}`, { method: 'PUT', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path} answered ${response.status} ${await response.text()}`);
  await response.arrayBuffer();
}

async function created(gateway: OperatorFixture, path: string, body: unknown): Promise<string> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${gateway.token}` };
  const response = await fetch(`${gateway.base}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  const { id } = (await response.json()) as { id?: string };
  if (id === undefined) throw new Error(`${path} answered ${response.status}`);
  return id;
}
