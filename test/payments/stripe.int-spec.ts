// Stripe's own client drives the simulator, and its generator signs events for the gateway: neither is of our making.
import { createRequire } from 'node:module';
import { until } from '../../libs/runtime/src/testing/until.js';
import { paymentsFixture, PRICE } from './payments-fixture.js';

/** What is used of the official client: its own types would be a third of all that is checked here. */
interface StripeIntent {
  id: string;
  status: string;
  amount: number;
  amount_received: number;
  latest_charge: { amount_refunded: number } | null;
}
interface StripeOptions {
  idempotencyKey?: string;
}
interface StripeClient {
  paymentIntents: {
    create(fields: object, options?: StripeOptions): Promise<StripeIntent>;
    confirm(id: string, fields: object): Promise<StripeIntent>;
    capture(id: string, fields?: object): Promise<StripeIntent>;
    cancel(id: string): Promise<StripeIntent>;
    retrieve(id: string, fields?: object): Promise<StripeIntent>;
  };
  refunds: { create(fields: object, options?: StripeOptions): Promise<{ id: string; status: string }> };
  webhooks: {
    generateTestHeaderString(options: { payload: string; secret: string; timestamp?: number }): string;
    constructEvent(payload: string, header: string, secret: string): { type: string };
  };
}
interface StripeModule {
  new (key: string, config: { httpClient: unknown; maxNetworkRetries: number }): StripeClient;
  createFetchHttpClient(send: (url: string, init?: RequestInit) => Promise<Response>): unknown;
}

const Stripe = createRequire(import.meta.url)('stripe') as StripeModule;
const fixture = paymentsFixture();
const SECRET = 'whsec_test_0001';
const SAVED = { provider: 'stripe', token: 'pm_card_0001' };
const ASKS = { provider: 'stripe', token: 'pm_3ds_0001', return_url: 'https://shop.example/back' };

function official(): StripeClient {
  const toSimulator = (url: string, init?: RequestInit): Promise<Response> =>
    fetch(url.toString().replace('https://api.stripe.com', `${fixture.simulatorUrl}/stripe`), init);
  return new Stripe('sk_test_1', { httpClient: Stripe.createFetchHttpClient(toSimulator), maxNetworkRetries: 0 });
}

const INTENT = { amount: PRICE, currency: 'uzs', capture_method: 'manual', payment_method_types: ['card'] };

describe('the official client against the simulator', () => {
  it('makes one payment for one key, holds, captures and refunds it in parts', async () => {
    const { paymentIntents, refunds } = official();
    const fields = { ...INTENT, metadata: { our_ref: 'official-1' } };
    const made = await paymentIntents.create(fields, { idempotencyKey: 'key-1' });
    expect((await paymentIntents.create(fields, { idempotencyKey: 'key-1' })).id).toBe(made.id);
    await expect(
      paymentIntents.create({ ...fields, amount: 1_000 }, { idempotencyKey: 'key-1' }),
    ).rejects.toMatchObject({
      type: 'StripeIdempotencyError',
    });
    expect((await paymentIntents.confirm(made.id, { payment_method: 'pm_card_0001' })).status).toBe('requires_capture');
    expect((await paymentIntents.capture(made.id, { amount_to_capture: PRICE })).status).toBe('succeeded');
    await expect(paymentIntents.cancel(made.id)).rejects.toMatchObject({ code: 'payment_intent_unexpected_state' });
    const part = { payment_intent: made.id, amount: 1_000 };
    const [first, again] = [
      await refunds.create(part, { idempotencyKey: 'part-1' }),
      await refunds.create(part, { idempotencyKey: 'part-1' }),
    ];
    expect([first.status, again.id]).toEqual(['succeeded', first.id]);
    const shown = await paymentIntents.retrieve(made.id, { expand: ['latest_charge'] });
    expect([shown.amount_received, shown.latest_charge?.amount_refunded]).toEqual([PRICE, 1_000]);
    await expect(refunds.create({ payment_intent: made.id, amount: PRICE })).rejects.toMatchObject({
      type: 'StripeInvalidRequestError',
    });
  });

  it('answers a declined card and an unknown payment in the words of the API', async () => {
    const { paymentIntents } = official();
    const made = await paymentIntents.create(INTENT);
    await fixture.faults({ fault: 'decline', next: 1 });
    await expect(paymentIntents.confirm(made.id, { payment_method: 'pm_card_0001' })).rejects.toMatchObject({
      ...{ type: 'StripeCardError', code: 'card_declined', decline_code: 'generic_decline' },
    });
    await expect(paymentIntents.retrieve('pi_none')).rejects.toMatchObject({ code: 'resource_missing' });
  });
});

describe('events that the official generator signs', () => {
  const send = async (payload: string, header: string): Promise<number> => {
    const headers = { 'content-type': 'application/json', 'stripe-signature': header };
    return (await fetch(fixture.accounts.stripe?.url ?? '', { method: 'POST', headers, body: payload })).status;
  };
  const eventAbout = (id: string, type = 'payment_intent.amount_capturable_updated'): string =>
    JSON.stringify({ id: 'evt_1', object: 'event', type, data: { object: { id, object: 'payment_intent' } } }, null, 2);

  it('are taken while they are five minutes old at most, with their own body and secret', async () => {
    const { webhooks } = official();
    const payload = eventAbout('pi_none');
    const now = Math.floor(Date.now() / 1_000);
    const signed = (more: object = {}): string =>
      webhooks.generateTestHeaderString({ payload, secret: SECRET, timestamp: now, ...more });
    expect(await send(payload, signed())).toBe(200);
    expect(await send(payload, signed({ timestamp: now - 301 }))).toBe(403);
    expect(await send(payload, signed({ secret: 'whsec_other' }))).toBe(403);
    expect(await send(`${payload} `, signed())).toBe(403);
    expect(await send(payload, '')).toBe(403);
  });

  it('have the payment read, whatever they say of it', async () => {
    const { body } = await fixture.pay(ASKS);
    expect([body.status, body.next_action.type]).toEqual(['pending', 'redirect']);
    const [known] = await fixture.simulated(body.id);
    const { webhooks } = official();
    const { prisma } = fixture.gateway;
    // Without a hint nothing is read for an hour.
    await until(
      'its worker rests',
      () => prisma.$executeRaw`
        UPDATE payments SET due_at = now() + interval '1 hour' WHERE id = ${body.id} AND lease_id IS NULL`,
      (rows) => rows === 1,
    );
    const reads = (): Promise<number> =>
      prisma.paymentCall.count({ where: { paymentId: body.id, call: 'read_status', finishedAt: { not: null } } });
    const before = await reads();
    const payload = eventAbout(known?.id ?? '', 'payment_intent.succeeded');
    expect(await send(payload, webhooks.generateTestHeaderString({ payload, secret: SECRET }))).toBe(200);
    await until('the status was read', reads, (count) => count > before);
    // Said to be taken: nothing is, the customer has not been at the bank's page.
    expect((await fixture.read(body.id)).receipt.status).toBe('awaiting_payment');
    await fixture.payOnPage(body);
    await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
  });

  it('of the simulator are events for the official client', async () => {
    const headers: string[] = [];
    const bodies: string[] = [];
    const taken = fixture.accounts.stripe;
    // Where the simulator's own calls go, for this test.
    const { createServer } = await import('node:http');
    const server = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
      request.on('end', () => {
        headers.push(String(request.headers['stripe-signature']));
        bodies.push(text);
        response.end('{}');
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    fixture.accounts.stripe = { url: `http://127.0.0.1:${String(port)}`, webhook_secret: SECRET };
    try {
      const { paymentIntents, webhooks } = official();
      const made = await paymentIntents.create(INTENT);
      await paymentIntents.confirm(made.id, { payment_method: 'pm_card_0001' });
      const wanted = 'payment_intent.amount_capturable_updated';
      const at = await until(
        'the event of this payment has come',
        () => Promise.resolve(bodies.findIndex((body) => body.includes(made.id) && body.includes(wanted))),
        (index) => index >= 0,
      );
      expect(webhooks.constructEvent(bodies[at] ?? '', headers[at] ?? '', SECRET).type).toBe(wanted);
    } finally {
      fixture.accounts.stripe = taken;
      await new Promise((resolve) => server.close(resolve));
    }
  });
});

describe('a refund that is pending', () => {
  async function paid(): Promise<{ id: string; receiptId: string }> {
    const { body } = await fixture.pay(SAVED);
    await fixture.until(body.id, { status: 'captured', receipt: 'registered' });
    return { id: body.id, receiptId: body.receipt.id };
  }
  const giveBack = (receiptId: string) => fixture.ask('POST', `/v1/receipts/${receiptId}/refunds`, {});

  it('is no money back, whatever the charge counts, until it has succeeded: asked for once', async () => {
    const { id, receiptId } = await paid();
    await fixture.faults({ fault: 'late', next: 1, delay_ms: 6_000 });
    await giveBack(receiptId);
    // Longer than what is taken for lost: it is still pending there.
    const { prisma } = fixture.gateway;
    await until(
      'its status was read',
      () => prisma.paymentCall.count({ where: { paymentId: id, call: 'read_status', finishedAt: { not: null } } }),
      (reads) => reads >= 2,
    );
    const [money] = await fixture.simulated(id);
    const view = await fixture.read(id);
    // On however slow a machine: said to be back only after it is.
    if (money?.refunded === 0 && view.status !== 'refunded') expect(view.refunded).toBe(0);
    else expect((await fixture.simulated(id))[0]?.refunded).toBe(PRICE);
    await fixture.until(id, { status: 'refunded' });
    expect(await fixture.simulated(id)).toMatchObject([{ refunds: 1, refunded: PRICE }]);
  });

  it('and fails is not given back, is asked for by its key alone, and ends with a person', async () => {
    const { id, receiptId } = await paid();
    await fixture.faults({ fault: 'refund_fails', next: 1, delay_ms: 0 });
    await giveBack(receiptId);
    const { prisma } = fixture.gateway;
    await until(
      'a person is asked',
      async () => {
        // As if the pauses, and what is taken for lost, were over.
        await prisma.$executeRaw`UPDATE payments SET due_at = now() WHERE id = ${id} AND lease_id IS NULL`;
        await prisma.$executeRaw`
          UPDATE payment_calls SET started_at = started_at - interval '1 hour' WHERE payment_id = ${id} AND started_at > now() - interval '1 hour'`;
        await prisma.$executeRaw`
          UPDATE payment_refunds SET called_at = called_at - interval '1 hour' WHERE payment_id = ${id} AND called_at > now() - interval '1 hour'`;
        return fixture.read(id);
      },
      ({ status }) => status === 'manual',
    );
    expect(await fixture.simulated(id)).toMatchObject([{ status: 'captured', refunds: 0, refunded: 0 }]);
    expect((await fixture.events(id)).filter((type) => type === 'payment.refunded')).toEqual([]);
  });
});

describe('a card that was saved for a customer', () => {
  it.each([
    ['for that customer', 'cus_0001:pm_saved_0001', 'captured', 'registered'],
    ['without the customer', 'pm_saved_0001', 'declined', 'cancelled'],
    ['for another one', 'cus_0002:pm_saved_0001', 'declined', 'cancelled'],
  ])('%s: %s is %s', async (_name, token, status, receipt) => {
    const { body } = await fixture.pay({ provider: 'stripe', token });
    await fixture.until(body.id, { status, receipt });
  });
});

describe('sums that Stripe does not take', () => {
  it.each([
    ['below its least', { least_amount: String(PRICE + 1) }, PRICE],
    ['above its most', { least_amount: '50000' }, 100_000_000],
  ])('%s are refused before anything is stored, also by validate', async (_name, settings, price) => {
    await fixture.choose('stripe', settings);
    const sale = fixture.sale(SAVED);
    const body = { ...sale, items: (sale['items'] as object[]).map((item) => ({ ...item, price })) };
    const before = await fixture.stored();
    for (const path of ['/v1/payments', '/v1/receipts', '/v1/receipts/validate']) {
      const answer = await fixture.ask('POST', path, body);
      expect([path, answer.status, answer.body.errors[0]?.pointer]).toEqual([path, 422, '/payment/provider']);
    }
    expect(await fixture.stored()).toEqual(before);
    await fixture.choose('stripe', { least_amount: '50000' });
  });
});
