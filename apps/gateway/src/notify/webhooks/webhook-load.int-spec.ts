// Promise: no merchant's backlog keeps another's events waiting; a receiver gets as much at a time as it answers well, in batches if it likes.
import { Webhook } from 'standardwebhooks';
import { parseCidr, type Cidr } from '#outgoing';
import { newId } from '#runtime';
import { OperatorFixture } from '../../operator/testing/operator-fixture.js';
import { insertDeliveries } from './delivery-rows.js';
import { Receiver } from './testing/receiver.js';
import { untilTrue } from '../../../../../libs/runtime/src/testing/until.js';

let fixture: OperatorFixture;
let receiver: Receiver;
let merchantId: string;

beforeAll(async () => {
  fixture = await OperatorFixture.start({ WEBHOOK_ALLOWED_CIDRS: [networkOf('127.0.0.0/8')] });
});
beforeEach(async () => {
  receiver = await Receiver.start();
  merchantId = await fixture.createMerchant();
});
afterEach(async () => {
  await fixture.prisma.$executeRaw`UPDATE webhook_endpoints SET deleted_at = now(), due_at = NULL`;
  await receiver.stop();
});
afterAll(() => fixture.stop());

function networkOf(text: string): Cidr {
  const parse = parseCidr(text);
  if (parse.kind === 'invalid') throw new Error(parse.reason);
  return parse.cidr;
}

async function webhook(more: Record<string, unknown> = {}): Promise<{ id: string; secret: string }> {
  const token = await fixture.createToken(merchantId, ['webhooks:admin']);
  const response = await fetch(`${fixture.base}/v1/webhooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: `${receiver.url}/hook`, ...more }),
  });
  const body = (await response.json()) as { id: string; secret: string };
  expect([response.status, body]).toEqual([201, expect.objectContaining(more)]);
  return body;
}

/** Events of the merchant, each of a receipt of its own unless one is named. @returns their ids */
async function publish(count: number, subjectId?: string): Promise<string[]> {
  const events = Array.from({ length: count }, () => ({ id: newId('evt'), subject: subjectId ?? newId('rcp') }));
  await fixture.prisma.$executeRaw`
    INSERT INTO events (id, merchant_id, type, subject_id, data)
    SELECT e.id, ${merchantId}, 'receipt.registered', e.subject, jsonb_build_object('of', e.subject)
      FROM json_to_recordset(${JSON.stringify(events)}::json) AS e(id text, subject text)`;
  return events.map(({ id }) => id);
}

/** Receivers of callbacks of the merchant, below /busy/, each with the same deliveries. */
async function callbacks(count: number, backlog: number): Promise<void> {
  // Origins of callbacks: one secret signs for all of them.
  const token = await fixture.createToken(merchantId, ['webhooks:admin']);
  await fetch(`${fixture.base}/v1/webhooks/callbacks/rotate-secret`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{}',
  });
  const data = Array.from({ length: count }, (_, index) => ({
    ...{ id: newId('whk'), merchantId, kind: 'callback' as const, url: `${receiver.url}/busy/${index}`, events: [] },
  }));
  await fixture.prisma.webhookEndpoint.createMany({ data });
  await publish(backlog);
  const rows = await fixture.prisma.event.findMany({
    where: { merchantId },
    select: { id: true, position: true, subjectId: true },
  });
  for (const { id, url } of data)
    await insertDeliveries(
      fixture.prisma,
      rows.map((row) => ({
        ...{ merchantId, endpointId: id, url, eventPosition: row.position, eventId: row.id },
        ...{ type: 'receipt.registered', subjectId: row.subjectId },
      })),
    );
}

/** Deliveries of an endpoint, each with its attempts. */
async function states(endpointId: string) {
  const rows = await fixture.prisma.webhookDelivery.findMany({ where: { endpointId } });
  const attempts = await fixture.prisma.webhookAttempt.findMany({
    where: { deliveryId: { in: rows.map(({ id }) => id) } },
  });
  return rows.map((row) => ({ ...row, attempts: attempts.filter(({ deliveryId }) => deliveryId === row.id) }));
}

const column = async (
  id: string,
): Promise<{ concurrency: number; failingSince: Date | null; leaseUntil: Date | null }> =>
  fixture.prisma.webhookEndpoint.findUniqueOrThrow({ where: { id } });

describe('sending', () => {
  test('a receiver that answers well gets more and more at the same time, and never falls behind', async () => {
    const hook = await webhook();
    let [underWay, most] = [0, 0];
    receiver.answer = (_received, response) => {
      underWay += 1;
      most = Math.max(most, underWay);
      setTimeout(() => {
        underWay -= 1;
        response.writeHead(204).end();
      }, 100);
    };
    await publish(600);
    await untilTrue(() => receiver.received.length >= 600);
    expect(most).toBeGreaterThan(12);
    await untilTrue(async () => (await column(hook.id)).leaseUntil === null);
    expect((await column(hook.id)).concurrency).toBeGreaterThan(12);
  });

  test('a lost host holds an endpoint for less than ten seconds, a slow receiver is held as long as it takes', async () => {
    const hook = await webhook();
    let answer: () => void = () => undefined;
    receiver.answer = (_received, response) => void (answer = () => response.writeHead(204).end());
    await publish(1);
    await untilTrue(() => receiver.received.length === 1);
    const first = await column(hook.id);
    const [held] = await fixture.prisma.$queryRaw<{ ms: number }[]>`
      SELECT extract(epoch FROM lease_until - now())::float8 * 1000 AS ms FROM webhook_endpoints WHERE id = ${hook.id}`;
    expect(held?.ms).toBeLessThanOrEqual(8_000);
    // Renewed while the receiver thinks: no other process takes the endpoint, and nothing is sent twice.
    await untilTrue(
      async () => ((await column(hook.id)).leaseUntil?.getTime() ?? 0) > (first.leaseUntil?.getTime() ?? 0),
    );
    answer();
    await untilTrue(async () => (await column(hook.id)).leaseUntil === null);
    expect(receiver.received).toHaveLength(1);
  });

  test('one that is overrun gets less', async () => {
    const hook = await webhook();
    let underWay = 0;
    receiver.answer = (_received, response) => {
      underWay += 1;
      const status = underWay > 3 ? 503 : 204;
      setTimeout(() => {
        underWay -= 1;
        response.writeHead(status).end();
      }, 50);
    };
    await publish(60);
    await untilTrue(async () => (await column(hook.id)).concurrency < 8);
    await untilTrue(() => receiver.received.length >= 60);
    await untilTrue(async () => (await column(hook.id)).leaseUntil === null);
    expect((await column(hook.id)).concurrency).toBeLessThanOrEqual(5);
  });

  test('what a receiver does not like for itself (4xx) slows nothing down', async () => {
    const hook = await webhook();
    receiver.answer = ({ event }, response) =>
      void response.writeHead(event.id.charCodeAt(event.id.length - 1) % 2 === 0 ? 400 : 204).end();
    await publish(60);
    await untilTrue(() => receiver.received.length >= 60);
    await untilTrue(async () => (await column(hook.id)).leaseUntil === null);
    expect((await column(hook.id)).concurrency).toBeGreaterThanOrEqual(8);
  });

  test('a hundred receivers with long backlogs do not keep one waiting that has a single event', async () => {
    const [busy, backlog] = [100, 150];
    receiver.answer = (_received, response) => void setTimeout(() => response.writeHead(204).end(), 20);
    await callbacks(busy, backlog);
    await untilTrue(() => receiver.received.length > busy);
    merchantId = await fixture.createMerchant();
    await webhook();
    await publish(1);
    await untilTrue(() => receiver.received.some(({ path }) => path === '/hook'));
    const before = receiver.received.findIndex(({ path }) => path === '/hook');
    expect(before).toBeLessThan((busy * backlog) / 2);
  });

  test('a merchant with many receivers that do not answer has its share of the places, and another is served', async () => {
    let [underWay, most] = [0, 0];
    receiver.answer = ({ path }, response) => {
      if (path === '/hook') return void response.writeHead(204).end();
      underWay += 1;
      most = Math.max(most, underWay);
      response.once('close', () => (underWay -= 1));
    };
    await callbacks(200, 1);
    await untilTrue(() => underWay >= 16);
    merchantId = await fixture.createMerchant();
    await webhook();
    await publish(1);
    await untilTrue(() => receiver.received.some(({ path }) => path === '/hook'));
    // Of those that are well, and of those that fail.
    expect(most).toBeLessThanOrEqual(16 + 4);
  });
});

test('an answer that is cut within a character is kept, and holds no other record back', async () => {
  const { id } = await webhook();
  receiver.answer = (_received, response) => void response.writeHead(400).end(`a${'\u{1f600}'.repeat(1_000)}`);
  await publish(1);
  await untilTrue(async () => {
    const [tried] = (await states(id)).flatMap(({ attempts }) => attempts);
    return tried?.answer?.startsWith('a\u{1f600}') ?? false;
  });
});

describe('batches', () => {
  test('several events in one request, signed as one, each once, of a receipt one at a time', async () => {
    const { id, secret } = await webhook({ batch_size: 10 });
    const receipt = newId('rcp');
    const [first = ''] = await publish(1, receipt);
    const [second = ''] = await publish(1, receipt);
    const others = await publish(40);
    const ids = (): string[] => receiver.received.flatMap(({ events }) => events.map((event) => event.id));
    await untilTrue(() => ids().length >= 42);
    expect([...ids()].sort()).toEqual([first, second, ...others].sort());
    expect(ids().indexOf(first)).toBeLessThan(ids().indexOf(second));
    for (const { body, headers, events, event } of receiver.received) {
      new Webhook(secret).verify(body, headers as Record<string, string>);
      expect(event).toMatchObject({ type: 'batch' });
      expect(events.length).toBeLessThanOrEqual(10);
      expect(headers['webhook-id']).toMatch(/^bat_[0-9a-f]{32}$/);
      const receipts = events.map(({ data }) => data['of']);
      expect(new Set(receipts).size).toBe(receipts.length);
    }
    expect(receiver.received.length).toBeLessThan(30);
    await untilTrue(async () => (await states(id)).every(({ state }) => state === 'delivered'));
    expect((await states(id)).every(({ attempts }) => attempts.length === 1)).toBe(true);
  });

  test('a batch that is refused is tried again event by event: one that is not liked keeps no other', async () => {
    const { id } = await webhook({ batch_size: 20 });
    const ids = await publish(20);
    const poison = ids[7] ?? '';
    receiver.answer = ({ events }, response) =>
      void response.writeHead(events.some((event) => event.id === poison) ? 422 : 204).end();
    await untilTrue(async () => {
      // As if the waiting of the endpoint and its deliveries were over.
      await fixture.prisma
        .$executeRaw`UPDATE webhook_deliveries SET due_at = now() WHERE endpoint_id = ${id} AND state = 'pending'`;
      await fixture.prisma
        .$executeRaw`UPDATE webhook_endpoints SET due_at = now(), blocked_until = NULL WHERE id = ${id}`;
      return (await states(id)).filter(({ state }) => state === 'delivered').length === 19;
    });
    expect((await states(id)).filter(({ state }) => state === 'pending').map(({ eventId }) => eventId)).toEqual([
      poison,
    ]);
  });

  test.each([[0], [101], [1.5], ['2'], [null]])('%j is no size', async (size) => {
    const token = await fixture.createToken(merchantId, ['webhooks:admin']);
    const response = await fetch(`${fixture.base}/v1/webhooks`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url: `${receiver.url}/hook`, batch_size: size }),
    });
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ errors: [{ pointer: '/batch_size' }] });
  });
});
