import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { guardedRequest, OutgoingGuard, parseCidr } from '#outgoing';
import { readAnswer, type HttpExchange } from '#payments';
import { NO_ACCOUNTS, type MerchantAccounts } from '../../../apps/payments-simulator/src/accounts.js';
import { violationsOf } from '../../../libs/payments/src/testing/provider-schemas.js';
import { paymentsSimulator } from '../../../apps/payments-simulator/src/server.js';
import { until } from '../../../libs/runtime/src/testing/until.js';
import type { SimulatedPayment } from '../payments-fixture.js';

const loopback = parseCidr('127.0.0.0/8');
if (loopback.kind === 'invalid') throw new Error(loopback.reason);
const guard = OutgoingGuard.forProviders([loopback.cidr]);

/** Short, so that an answer can be too late; the simulator's delay is longer. */
export const TIMEOUT_MS = 1_500;
/** Where no answer is to be too late: on a busy machine each may be. */
const PATIENCE_MS = 60_000;

export interface Rule {
  fault: string;
  next?: number;
  delay_ms?: number;
}

/** A shop that takes whatever Click has: no gateway is there, the client is what is tried. */
function takeClick(form: Record<string, string>): Record<string, unknown> {
  const isFailed = Number(form['error']) < 0;
  const number = { [form['action'] === '1' ? 'merchant_confirm_id' : 'merchant_prepare_id']: 1 };
  return {
    ...{
      click_trans_id: Number(form['click_trans_id']),
      merchant_trans_id: form['merchant_trans_id'] ?? '',
      ...number,
    },
    ...(isFailed ? { error: -9, error_note: 'Transaction cancelled' } : { error: 0, error_note: 'Success' }),
  };
}

/** The simulator, held to the published documents on both sides. */
export class KitSimulator {
  readonly violations = new Set<string>();
  private server!: FastifyInstance;
  private timeoutMs = PATIENCE_MS;
  url = '';

  /** As the gateway's clients reach out. */
  readonly exchange: HttpExchange = async ({ method, url, headers, body, form }) => {
    const payload = form ?? (body === undefined ? undefined : JSON.stringify(body));
    const type = form === undefined ? 'application/json' : 'application/x-www-form-urlencoded';
    const answer = await guardedRequest(guard, {
      ...{ url, method, timeoutMs: this.timeoutMs },
      headers: { ...(payload !== undefined && { 'content-type': type }), ...headers },
      ...(payload !== undefined && { body: payload }),
    });
    if (answer.kind === 'answered') return readAnswer(answer.status, answer.body.toString('utf8'));
    if (answer.kind === 'failed') return { kind: 'unknown', detail: answer.reason };
    return { kind: 'unsent', detail: answer.reason };
  };

  async start(): Promise<void> {
    this.server = paymentsSimulator({
      accounts: () => this.accounts(),
      observe: (call) => violationsOf(call).forEach((violation) => this.violations.add(violation)),
    });
    this.server.post('/shop/click', (request) => takeClick(request.body as Record<string, string>));
    await this.server.listen({ port: 0, host: '127.0.0.1' });
    this.url = `http://127.0.0.1:${String((this.server.server.address() as AddressInfo).port)}`;
  }

  private accounts(): MerchantAccounts {
    return { ...NO_ACCOUNTS, click: { url: `${this.url}/shop/click`, service_id: '1', secret_key: 's' } };
  }

  async stop(): Promise<void> {
    await this.server.close();
  }

  async faults(...rules: Rule[]): Promise<void> {
    this.timeoutMs = rules.some(({ fault }) => fault === 'delay') ? TIMEOUT_MS : PATIENCE_MS;
    await this.post('/faults', { rules });
  }

  /** What really happened to the money of one of our payments. */
  async money(ourRef: string): Promise<{ taken: number; back: number; statuses: string[]; ids: string[] }> {
    const { data } = (await (await fetch(`${this.url}/payments`)).json()) as {
      data: (SimulatedPayment & { amount: number })[];
    };
    const mine = data.filter(({ our_ref: ref }) => ref === ourRef);
    return {
      taken: mine.reduce((sum, { captures }) => sum + captures, 0),
      back: mine.reduce((sum, { refunded }) => sum + refunded, 0),
      statuses: mine.map(({ status }) => status),
      ids: mine.map(({ id }) => id),
    };
  }

  /** What people at the provider do to it. */
  async edit(id: string, change: { status?: string; amount?: number; currency?: string }): Promise<void> {
    await this.post(`/payments/${id}`, change);
  }

  /** Nothing that a fault has put off is still to come. */
  async isSettled(): Promise<boolean> {
    const { open } = (await (await fetch(`${this.url}/faults`)).json()) as { open: number };
    return open === 0;
  }

  /** The customer pays in Click's app what the phone was asked for, once it was: a fault may have put it off. */
  async payInvoice(ourRef: string): Promise<void> {
    await until(
      'the phone was asked',
      () => this.isSettled(),
      (isSettled) => isSettled,
    );
    await this.press(`${this.url}/click/invoice/${ourRef}`);
  }

  async press(url: string): Promise<void> {
    await (await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })).text();
  }

  private async post(path: string, body: unknown): Promise<void> {
    const headers = { 'content-type': 'application/json' };
    await (await fetch(`${this.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).text();
  }
}
