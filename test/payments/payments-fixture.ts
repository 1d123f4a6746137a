import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { multicardWebhookSign, type ProviderCode } from '#payments';
import { parseCidr } from '#outgoing';
import { newId } from '#runtime';
import { violationsOf } from '../../libs/payments/src/testing/provider-schemas.js';
import { paymentsSimulator } from '../../apps/payments-simulator/src/server.js';
import { parseProviderHosts } from '#payments';
import { NO_ACCOUNTS, type MerchantAccounts } from '../../apps/payments-simulator/src/accounts.js';
import { OperatorFixture } from '../../apps/gateway/src/operator/testing/operator-fixture.js';
import type { PaymentView } from '../../apps/gateway/src/payments/payment-view.js';
import type { Disagreement } from '../../apps/gateway/src/payments/reconciliation.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { SettledReceipts } from './settled-receipts.js';

export interface PaymentsAnswer {
  status: number;
  headers: Headers;
  body: PaymentView & Record<string, unknown> & { code: string; errors: { pointer: string; code: string }[] };
}

interface InboundExchange {
  provider: ProviderCode;
  path?: string;
  request: unknown;
  status: number;
  answer: unknown;
}

function inboundViolations(call: InboundExchange): string[] {
  return violationsOf({ by: 'provider', method: 'POST', path: '', ...call });
}

export interface SimulatedPayment {
  id: string;
  our_ref: string;
  provider: string;
  status: string;
  captures: number;
  refunds: number;
  refunded: number;
  link: string | null;
  documents: { type: string; url: string }[];
}

const SCOPES = [
  'payments:write',
  'receipts:write',
  'receipts:read',
  'refunds:write',
  'clients:admin',
  'operator:resolve',
];
const UZUM_ACCOUNT = {
  ...{ merchant_service_id: '101202', merchant_login: 'uzum', merchant_password: 'uzum-password-0001' },
  ...{ terminal_id: '5f0b2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4', api_key: 'uzum-key', tin: '300000000' },
  ...{ fastpay_service_id: '77', fastpay_user_id: '8461', fastpay_secret: 'fast-secret', cashbox_code: 'till-1' },
};

/** Where the simulator plays Uzum's products. */
export function uzumAddresses(simulatorUrl: string): Record<string, string> {
  return {
    ...{ checkout_url: `${simulatorUrl}/uzum/checkout`, fastpay_url: `${simulatorUrl}/uzum/fastpay` },
    ...{ ofd_url: `${simulatorUrl}/uzum/ofd`, open_url: `${simulatorUrl}/uzum/open-service` },
  };
}

const SPIC = '01905001001000001';
export const PRICE = 112_000;

/** A provider on a busy machine still answers within this; what is claimed by a gateway that died is free again some times later. */
const CALL_TIMEOUT_MS = 3_000;
/** An answer that comes after it. */
export const LATE_MS = 4_000;

/** For all tests of a file: started before the first, and each begins with a register that sells and providers without faults. */
export function paymentsFixture(more: Record<string, unknown> = {}): PaymentsFixture {
  const fixture = new PaymentsFixture();
  beforeAll(() => fixture.start(more));
  afterAll(async () => {
    await fixture.stop();
    // Whatever these tests sent a provider or had it send is as its published documents describe it.
    expect([...fixture.violations]).toEqual([]);
  });
  beforeEach(() => fixture.reset());
  return fixture;
}

/** The gateway as it runs, the providers' simulator beside it, and what a relay would do with the receipts. */
export class PaymentsFixture extends SettledReceipts {
  gateway!: OperatorFixture;
  simulator!: FastifyInstance;
  simulatorUrl = '';
  readonly accounts: MerchantAccounts = { ...NO_ACCOUNTS };
  readonly accountIds: Record<string, string> = {};
  /** What went over the wire and is in no document of the provider's. */
  readonly violations = new Set<string>();
  deviceId = '';
  cashierId = '';

  async start(more: Record<string, unknown>): Promise<void> {
    this.simulator = paymentsSimulator({
      accounts: () => this.accounts,
      observe: (exchange) => violationsOf(exchange).forEach((violation) => this.violations.add(violation)),
    });
    await this.simulator.listen({ port: 0, host: '127.0.0.1' });
    const { port } = this.simulator.server.address() as AddressInfo;
    this.simulatorUrl = `http://127.0.0.1:${String(port)}`;
    const loopback = parseCidr('127.0.0.0/8');
    if (loopback.kind === 'invalid') throw new Error(loopback.reason);
    this.gateway = await OperatorFixture.start({
      ...{
        PROVIDER_ALLOWED_CIDRS: [loopback.cidr],
        PAYMENT_CALL_TIMEOUT_MS: CALL_TIMEOUT_MS,
        PAYMENT_SETTLE_MS: 3_000,
      },
      ...{ PROVIDER_HOSTS: parseProviderHosts('127.0.0.1:*'), PAYMENT_LOOK_MS: 200 },
      // How late is too late is for the test of that: a call on a busy machine is still this call.
      ...{ PAYMENT_ANSWER_MS: 60_000, ...more },
    });
    this.gateway.token = await this.gateway.createToken(this.gateway.merchantId, SCOPES);
    await this.setUp();
  }

  async reset(): Promise<void> {
    this.register = 'registers';
    await this.faults();
  }

  /** How many of each are stored: unlike the whole database, nothing that an earlier payment still does changes it. */
  stored(): Promise<number[]> {
    const { payment, receipt, paymentRefund } = this.gateway.prisma;
    return Promise.all([payment.count(), receipt.count(), paymentRefund.count()]);
  }

  async stop(): Promise<void> {
    await this.endRegistering();
    await this.gateway?.stop();
    await this.simulator?.close();
  }

  private async setUp(): Promise<void> {
    const { prisma, merchantId } = this.gateway;
    ({ deviceId: this.deviceId } = await this.gateway.createDevice());
    this.cashierId = newId('csh');
    const branch = await prisma.branch.findFirstOrThrow({ where: { merchantId } });
    await prisma.cashier.create({
      data: { id: this.cashierId, merchantId, branchId: branch.id, code: 'till', name: 'Till' },
    });
    await prisma.classifierEntry.create({
      data: {
        ...{ spic: SPIC, name: { ru: 'Хлеб', uz: 'Non', en: 'Bread' }, packages: [{ code: '1500001', name: 'dona' }] },
        ...{ units: 796, marked: false, cashAllowed: true, vatPercents: [12], active: true, version: 1 },
      },
    });
    await this.openAccounts();
    this.beginRegistering();
  }

  private async openAccounts(): Promise<void> {
    const { simulatorUrl } = this;
    const make = async (provider: string, settings: Record<string, string>): Promise<string> => {
      const { status, body } = await this.ask('POST', '/v1/provider-accounts', { provider, settings });
      if (status !== 201) throw new Error(JSON.stringify(body));
      this.accountIds[provider] = body.id;
      return `${this.gateway.base}/v1/providers/${provider}/${body.id}`;
    };
    const payme = { cashbox_id: 'box', key: 'payme-key', checkout_url: `${simulatorUrl}/payme` };
    const paymeUrl = await make('payme', { ...payme, api_url: `${simulatorUrl}/payme/api` });
    this.accounts.payme = { url: paymeUrl, key: 'payme-key', account_field: 'order_id' };
    const click = { service_id: '12345', merchant_id: '77', merchant_user_id: '3333', secret_key: 'SECRET123' };
    const clickUrls = { api_url: `${simulatorUrl}/click/v2/merchant`, checkout_url: `${simulatorUrl}/click/pay` };
    const clickUrl = await make('click', { ...click, ...clickUrls });
    this.accounts.click = { url: clickUrl, service_id: '12345', secret_key: 'SECRET123' };
    const multicard = { application_id: 'app', secret: 'multi-secret', store_id: '6', partial_refunds: 'on' };
    const multicardUrl = await make('multicard', { ...multicard, api_url: `${simulatorUrl}/multicard` });
    this.accounts.multicard = { secret: 'multi-secret', store_id: '6', url: multicardUrl };
    const uzumUrl = await make('uzum', { ...UZUM_ACCOUNT, ...uzumAddresses(simulatorUrl) });
    const uzum = { service_id: '101202', login: 'uzum', password: 'uzum-password-0001', account_param: 'order_id' };
    this.accounts.uzum = { url: uzumUrl, ...uzum };
    const paynet = { service_id: '7', login: 'paynet', password: 'paynet-password-0001' };
    this.accounts.paynet = { url: await make('paynet', paynet), ...paynet };
    const octo = { shop_id: '10000', secret: 'octo-secret', api_url: `${simulatorUrl}/octo/api` };
    const atmos = { consumer_key: 'key', consumer_secret: 'consumer', store_id: '1', api_key: 'atmos-key' };
    const atmosUrl = await make('atmos', { ...atmos, api_url: `${simulatorUrl}/atmos` });
    this.accounts.atmos = { url: atmosUrl, store_id: '1', api_key: 'atmos-key' };
    const stripe = { secret_key: 'sk_test_1', webhook_secret: 'whsec_test_0001', api_url: `${simulatorUrl}/stripe` };
    const stripeUrl = await make('stripe', { ...stripe, least_amount: '50000' });
    this.accounts.stripe = { url: stripeUrl, webhook_secret: 'whsec_test_0001' };
    this.accounts.octo = { url: await make('octo', octo), secret: 'octo-secret' };
  }

  /** Settings of an account that are another merchant's choice. */
  async choose(provider: ProviderCode, settings: Record<string, string>): Promise<void> {
    const path = `/v1/provider-accounts/${this.accountIds[provider] ?? ''}`;
    const { status, body } = await this.ask('PATCH', path, { settings });
    if (status !== 200) throw new Error(JSON.stringify(body));
  }

  async ask(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<PaymentsAnswer> {
    const response = await fetch(`${this.gateway.base}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.gateway.token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const parsed = (text === '' ? {} : JSON.parse(text)) as PaymentsAnswer['body'];
    return { status: response.status, headers: response.headers, body: parsed };
  }

  sale(payment: Record<string, unknown>, more: Record<string, unknown> = {}): Record<string, unknown> {
    const item = { name: 'Non', price: PRICE, qty: 1, spic: SPIC };
    return { items: [item], payment: { method: 'online', ...payment }, cashier_id: this.cashierId, ...more };
  }

  pay(payment: Record<string, unknown>, headers: Record<string, string> = {}): Promise<PaymentsAnswer> {
    return this.ask('POST', '/v1/payments', this.sale(payment), headers);
  }

  async read(id: string): Promise<PaymentView> {
    return (await this.ask('GET', `/v1/payments/${id}`)).body;
  }

  /** Waits until the payment is as wanted. */
  until(id: string, wanted: { status: string; receipt?: string }, deadlineMs?: number): Promise<PaymentView> {
    return until(
      `payment ${id} is ${JSON.stringify(wanted)}`,
      () => this.read(id),
      ({ status, receipt }) => status === wanted.status && (wanted.receipt ?? receipt.status) === receipt.status,
      deadlineMs,
    );
  }

  async faults(
    ...rules: { fault: string; next?: number; rate?: number; delay_ms?: number; path?: string }[]
  ): Promise<void> {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ rules }) };
    await (await fetch(`${this.simulatorUrl}/faults`, init)).text();
  }

  /** How many calls the faults that were set have still to strike. */
  async faultsLeft(): Promise<number> {
    const { rules } = (await (await fetch(`${this.simulatorUrl}/faults`)).json()) as { rules: { next?: number }[] };
    return rules.reduce((sum, { next = 0 }) => sum + next, 0);
  }

  /** Waits until no provider has a call to us that is not answered. */
  async untilQuiet(): Promise<void> {
    const read = async (): Promise<{ calls: number }> =>
      (await (await fetch(`${this.simulatorUrl}/faults`)).json()) as { calls: number };
    await until('no provider calls', read, ({ calls }) => calls === 0);
  }

  /** Calls of providers that were kept about this payment, and about none. */
  kept(paymentId: string): Promise<number> {
    return this.gateway.prisma.providerCallback.count({ where: { OR: [{ paymentId }, { paymentId: null }] } });
  }

  async simulated(ourRef: string): Promise<SimulatedPayment[]> {
    const response = await fetch(`${this.simulatorUrl}/payments`);
    const { data } = (await response.json()) as { data: SimulatedPayment[] };
    return data.filter((payment) => payment.our_ref === ourRef);
  }

  /** Waits until the provider has the receipt's link. */
  async untilLinked(ourRef: string, wanted: string | null | undefined): Promise<void> {
    const read = (): Promise<SimulatedPayment[]> => this.simulated(ourRef);
    await until(`the provider has ${String(wanted)}`, read, (all) => all.some(({ link }) => link === wanted));
  }

  /** A person on the provider's page. */
  async press(url: string): Promise<string> {
    return (await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })).text();
  }

  /** The customer pays where the payment leads to; one without such an address has paid already. */
  async payOnPage({ next_action: action }: Pick<PaymentView, 'next_action'>, result = '<h1>Paid</h1>'): Promise<void> {
    if (action.type === 'redirect') expect(await this.press(action.url)).toContain(result);
  }

  /** What people at the provider do to it. */
  async atProvider(
    ourRef: string,
    edit: { status?: string; amount?: number; forget?: boolean; refunded?: number; disputed?: boolean },
  ): Promise<void> {
    const [known] = await this.simulated(ourRef);
    const headers = { 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(edit) };
    const response = await fetch(`${this.simulatorUrl}/payments/${known?.id ?? ''}`, init);
    expect(response.status).toBe(200);
    await response.arrayBuffer();
  }

  /** What does not agree about this payment. */
  async disagreement(id: string): Promise<Disagreement | undefined> {
    const { body } = await this.ask('GET', '/v1/payments/reconciliation?limit=100');
    return (body['data'] as Disagreement[]).find((each) => each.id === id);
  }

  /** Refunds of a sale, as the ledger has them. */
  async refundsOf(receiptId: string): Promise<{ status: string; total: number }[]> {
    const rows = await this.gateway.prisma.$queryRaw<{ status: string; total_tiyin: bigint }[]>`
      SELECT status::text, total_tiyin FROM receipts WHERE refund_of = ${receiptId} ORDER BY id`;
    return rows.map((row) => ({ status: row.status, total: Number(row.total_tiyin) }));
  }

  /** Waits until the sale is refunded: once, and all of it. */
  async untilRefunded(receiptId: string): Promise<void> {
    const read = (): Promise<{ status: string; total: number }[]> => this.refundsOf(receiptId);
    const found = await until('the sale is refunded', read, (all) => all.some(({ status }) => status === 'registered'));
    expect(found).toEqual([{ status: 'registered', total: PRICE }]);
  }

  /** How the client of another merchant signs its calls. */
  async stranger(scopes: string[]): Promise<{ authorization: string }> {
    return { authorization: `Bearer ${await this.gateway.createToken(await this.gateway.createMerchant(), scopes)}` };
  }

  /** Multicard's hint that something about this payment has changed, with the fields of its page. */
  async webhook(ourRef: string, more: { uuid?: string; status?: string } = {}): Promise<number> {
    const [known] = await this.simulated(ourRef);
    const { uuid = known?.id ?? '', status = 'progress' } = more;
    const signed = { uuid, storeId: null, invoiceId: ourRef, amount: String(PRICE) };
    const request = {
      ...{ uuid, amount: PRICE, invoice_id: ourRef, status, billing_id: null, payment_time: '2026-08-22 14:03:11' },
      ...{ refund_time: null, phone: '998901234567', card_pan: '860030******5959', ps: 'uzcard', card_token: null },
      ...{ receipt_url: null, sign: multicardWebhookSign(signed, 'multi-secret') },
    };
    const url = this.accounts.multicard?.url ?? '';
    const response = await fetch(url, { method: 'POST', body: JSON.stringify(request) });
    const answer: unknown = await response.json();
    this.observe({ provider: 'multicard', request, status: response.status, answer });
    return response.status;
  }

  /** A call of a provider that was taken: its body must be one that the provider's documents describe. */
  observe(call: InboundExchange): void {
    inboundViolations(call).forEach((violation) => this.violations.add(violation));
  }

  /** One that was refused: the answer is as documented all the same. The call itself may be none that any document describes. */
  observeRefusal(call: InboundExchange): void {
    const ofAnswer = inboundViolations(call).filter((violation) => violation.includes(', answer: '));
    ofAnswer.forEach((violation) => this.violations.add(violation));
  }

  async events(paymentId: string): Promise<string[]> {
    return (await this.gateway.events(paymentId)).map(({ type }) => type);
  }
}
