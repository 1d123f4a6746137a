// A second client of Stripe's API, of another language and an older version of it, finds what it expects at the simulator and in its events.
import { spawnSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { NO_ACCOUNTS } from '../../../apps/payments-simulator/src/accounts.js';
import { paymentsSimulator } from '../../../apps/payments-simulator/src/server.js';
import { until } from '../../../libs/runtime/src/testing/until.js';

const PYTHON = '/usr/bin/python3';
const SECRET = 'whsec_test_0001';
/** The simulator answers in no other. */
const VERSION = '2026-10-28.endive';
const isInstalled = spawnSync(PYTHON, ['-c', 'import stripe']).status === 0;
const testWithPython = isInstalled || process.env['CI'] === 'true' ? test : test.skip;

interface Event {
  body: string;
  signature: string;
}

/** The merchant's end: keeps the events that it gets. */
async function receiver(): Promise<{ url: string; events: Event[]; close: () => void }> {
  const events: Event[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      events.push({ body, signature: String(request.headers['stripe-signature']) });
      response.end();
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${String(port)}`, events, close: () => void server.close() };
}

async function form(url: string, fields: Record<string, string>): Promise<{ id: string }> {
  const response = await fetch(url, {
    ...{ method: 'POST', body: new URLSearchParams(fields) },
    headers: { authorization: 'Bearer sk_test_1', 'stripe-version': VERSION },
  });
  expect(response.status).toBe(200);
  return (await response.json()) as { id: string };
}

async function python(args: string[]): Promise<unknown> {
  const child = spawn(PYTHON, [join(import.meta.dirname, 'stripe_client.py'), ...args]);
  const [out, problems, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  expect({ code, problems }).toEqual({ code: 0, problems: '' });
  return JSON.parse(out);
}

testWithPython('python3-stripe: payments, keys, refunds, errors and signed events', async () => {
  const merchant = await receiver();
  const stripe = { url: merchant.url, webhook_secret: SECRET };
  const simulator = paymentsSimulator({ accounts: () => ({ ...NO_ACCOUNTS, stripe }) });
  const folder = mkdtempSync(join(tmpdir(), 'fiscal-stripe-'));
  try {
    const base = `${await simulator.listen({ port: 0, host: '127.0.0.1' })}/stripe`;
    const { id } = await form(`${base}/v1/payment_intents`, { amount: '112000', currency: 'uzs' });
    await form(`${base}/v1/payment_intents/${id}/confirm`, { payment_method: 'pm_card_0001' });
    const [event] = await until(
      'an event comes',
      () => Promise.resolve(merchant.events),
      ({ length }) => length > 0,
    );
    const bodyFile = join(folder, 'event.json');
    writeFileSync(bodyFile, event?.body ?? '');
    expect(await python([base, VERSION, bodyFile, event?.signature ?? '', SECRET])).toEqual({
      ...{ same_key: true, other_fields: ['IdempotencyError', null], held: 'requires_capture', captured: 'succeeded' },
      cancelled_too_late: ['InvalidRequestError', 'payment_intent_unexpected_state'],
      ...{ part: 'succeeded', same_part: true, too_much: ['InvalidRequestError', 'charge_already_refunded'] },
      ...{ sums: [112_000, 1_000], refunds: [1_000], cancelled: 'canceled' },
      ...{ unknown: ['InvalidRequestError', 'resource_missing'], event: 'payment_intent.created' },
      ...{ other_secret: ['SignatureVerificationError', null], other_body: ['SignatureVerificationError', null] },
    });
  } finally {
    await simulator.close();
    merchant.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
