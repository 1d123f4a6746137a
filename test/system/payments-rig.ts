import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PaymentView } from '../../apps/gateway/src/payments/payment-view.js';
import { Program } from './program.js';
import { startSystem, type SystemOptions, type TestSystem } from './system.js';

export interface RigPayment {
  id: string;
  our_ref: string;
  status: string;
  captures: number;
  refunds: number;
}

/** The whole system with the providers' simulator beside it, and accounts at all of them. */
export interface PaymentsRig {
  system: TestSystem;
  simulatorUrl: string;
  /** Where Payme calls. */
  paymeUrl: string;
  pay(payment: Record<string, unknown>, headers?: Record<string, string>): Promise<PaymentView | null>;
  press(view: PaymentView): Promise<void>;
  faults(rules: readonly Record<string, unknown>[]): Promise<void>;
  simulated(): Promise<RigPayment[]>;
  stop(): Promise<void>;
}

export interface PaymentsOptions extends SystemOptions {
  simulatorPort: number;
  /** Accounts are opened at these alone: a release before may not know all of today's. */
  providers?: readonly string[];
}

export async function startPayments(options: PaymentsOptions): Promise<PaymentsRig> {
  const folder = mkdtempSync(join(tmpdir(), 'fiscal-payments-'));
  const file = join(folder, 'accounts.json');
  const simulatorUrl = `http://127.0.0.1:${String(options.simulatorPort)}`;
  const simulator = new Program(
    'payments-sim',
    'payments-simulator/src/main.js',
    { PAYMENTS_SIM_PORT: String(options.simulatorPort), PAYMENTS_SIM_ACCOUNTS: file },
    `${simulatorUrl}/healthz`,
  );
  const env = {
    ...{
      PROVIDER_ALLOWED_CIDRS: '127.0.0.0/8',
      PROVIDER_HOSTS: '127.0.0.1:*',
      PAYMENT_CALL_TIMEOUT_MS: '2000',
      PAYMENT_SETTLE_MS: '4500',
    },
    ...{ PAYMENT_LOOK_MS: '250' },
  };
  const scopes = ['receipts:write', 'receipts:read', 'payments:write', 'clients:admin', ...(options.scopes ?? [])];
  const system = await startSystem({ ...options, scopes, env: { ...env, ...options.env } });
  const stop = async (): Promise<void> => {
    await simulator.end();
    await system.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await simulator.start();
    const accounts = await openAccounts(system, simulatorUrl, options.providers);
    writeFileSync(file, JSON.stringify(accounts));
    return { system, simulatorUrl, paymeUrl: accounts.payme.url, ...handles(system, simulatorUrl), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function openAccounts(system: TestSystem, simulator: string, only?: readonly string[]) {
  const make = async (provider: string, settings: Record<string, string>): Promise<string> => {
    if (only?.includes(provider) === false) return '';
    const { status, body } = await system.client.post('/v1/provider-accounts', { provider, settings });
    if (status !== 201) throw new Error(JSON.stringify(body));
    return `${system.gatewayUrls[0] ?? ''}/v1/providers/${provider}/${body.id ?? ''}`;
  };
  const payme = {
    cashbox_id: 'box',
    key: 'key',
    api_url: `${simulator}/payme/api`,
    checkout_url: `${simulator}/payme`,
  };
  const click = {
    ...{ service_id: '12345', merchant_id: '77', merchant_user_id: '3333', secret_key: 'SECRET123' },
    ...{ api_url: `${simulator}/click/v2/merchant`, checkout_url: `${simulator}/click/pay` },
  };
  const multicard = { application_id: 'app', secret: 'secret', store_id: '6', api_url: `${simulator}/multicard` };
  const uzum = {
    ...{ terminal_id: '5f0b2c1e-3d4a-4b5c-8d6e-7f8091a2b3c4', api_key: 'uzum-key' },
    ...{ checkout_url: `${simulator}/uzum/checkout` },
  };
  const atmos = { consumer_key: 'key', consumer_secret: 'consumer', store_id: '1', api_key: 'atmos-key' };
  const paynet = { service_id: '7', login: 'paynet', password: 'paynet-password-0001' };
  const stripe = { secret_key: 'sk_test_1', webhook_secret: 'whsec_test_0001', least_amount: '50000' };
  const octo = { shop_id: '10000', secret: 'octo-secret', api_url: `${simulator}/octo/api` };
  await make('uzum', uzum);
  return {
    payme: { url: await make('payme', payme), key: 'key', account_field: 'order_id' },
    click: { url: await make('click', click), service_id: '12345', secret_key: 'SECRET123' },
    multicard: { url: await make('multicard', multicard), secret: 'secret', store_id: '6' },
    atmos: {
      url: await make('atmos', { ...atmos, api_url: `${simulator}/atmos` }),
      store_id: '1',
      api_key: 'atmos-key',
    },
    paynet: { url: await make('paynet', paynet), ...paynet },
    stripe: {
      url: await make('stripe', { ...stripe, api_url: `${simulator}/stripe` }),
      webhook_secret: 'whsec_test_0001',
    },
    octo: { url: await make('octo', octo), secret: 'octo-secret' },
  };
}

function handles(
  system: TestSystem,
  simulatorUrl: string,
): Pick<PaymentsRig, 'pay' | 'press' | 'faults' | 'simulated'> {
  const headers = { 'content-type': 'application/json' };
  return {
    pay: async (payment, more = {}) => {
      const sale = system.client.saleOf(0, { payment: { method: 'online', ...payment } });
      const { status, body } = await system.client.post('/v1/payments', sale, more);
      if (status >= 500 || status === 409) return null;
      if (status >= 400) throw new Error(`${String(status)} ${JSON.stringify(body)}`);
      return body as unknown as PaymentView;
    },
    press: async ({ id, provider, amount, status, next_action: action }) => {
      // At a terminal the customer names the payment and its sum.
      if (provider === 'paynet' && status === 'pending')
        await (await fetch(`${simulatorUrl}/paynet/pay/${id}/${String(amount)}`, { method: 'POST' })).text();
      if (action.type === 'redirect') await (await fetch(action.url, { method: 'POST', headers, body: '{}' })).text();
    },
    faults: async (rules) => {
      const init = { method: 'POST', headers, body: JSON.stringify({ rules }) };
      await (await fetch(`${simulatorUrl}/faults`, init)).text();
    },
    simulated: async () => {
      const response = await fetch(`${simulatorUrl}/payments`);
      return ((await response.json()) as { data: RigPayment[] }).data;
    },
  };
}
