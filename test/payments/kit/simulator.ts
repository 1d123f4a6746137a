import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { guardedRequest, OutgoingGuard, parseCidr } from '#outgoing';
import { readAnswer, type HttpExchange } from '#payments';
import { violationsOf } from '../../../libs/payments/src/testing/provider-schemas.js';
import { paymentsSimulator } from '../../../apps/payments-simulator/src/server.js';
import type { SimulatedPayment } from '../payments-fixture.js';

const loopback = parseCidr('127.0.0.0/8');
if (loopback.kind === 'invalid') throw new Error(loopback.reason);
const guard = OutgoingGuard.forProviders([loopback.cidr]);

/** Short, so that an answer can be too late; the simulator's delay is longer. */
export const TIMEOUT_MS = 1_500;

/** As the gateway's clients reach out. */
export const exchange: HttpExchange = async ({ method, url, headers, body, form }) => {
  const payload = form ?? (body === undefined ? undefined : JSON.stringify(body));
  const type = form === undefined ? 'application/json' : 'application/x-www-form-urlencoded';
  const answer = await guardedRequest(guard, {
    ...{ url, method, timeoutMs: TIMEOUT_MS },
    headers: { ...(payload !== undefined && { 'content-type': type }), ...headers },
    ...(payload !== undefined && { body: payload }),
  });
  if (answer.kind === 'answered') return readAnswer(answer.status, answer.body.toString('utf8'));
  if (answer.kind === 'failed') return { kind: 'unknown', detail: answer.reason };
  return { kind: 'unsent', detail: answer.reason };
};

export interface Rule {
  fault: string;
  next?: number;
  delay_ms?: number;
}

/** The simulator, held to the published documents on both sides. */
export class KitSimulator {
  readonly violations = new Set<string>();
  private server!: FastifyInstance;
  url = '';

  async start(): Promise<void> {
    this.server = paymentsSimulator({
      observe: (call) => violationsOf(call).forEach((violation) => this.violations.add(violation)),
    });
    await this.server.listen({ port: 0, host: '127.0.0.1' });
    this.url = `http://127.0.0.1:${String((this.server.server.address() as AddressInfo).port)}`;
  }

  async stop(): Promise<void> {
    await this.server.close();
  }

  async faults(...rules: Rule[]): Promise<void> {
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

  async press(url: string): Promise<void> {
    await (await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })).text();
  }

  private async post(path: string, body: unknown): Promise<void> {
    const headers = { 'content-type': 'application/json' };
    await (await fetch(`${this.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).text();
  }
}
