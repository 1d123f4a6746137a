// Promise: an endpoint that was moved is served and judged by its new receiver alone: neither the days that the one before was away nor what it still answers decide anything.
import type { ServerResponse } from 'node:http';
import { parseCidr } from '#outgoing';
import { newId } from '#runtime';
import { OperatorFixture } from '../../operator/testing/operator-fixture.js';
import { untilTrue } from '../../../../../libs/runtime/src/testing/until.js';
import { Receiver } from './testing/receiver.js';

interface Hook {
  id: string;
  enabled: boolean;
  failing_since: string | null;
}

let fixture: OperatorFixture;
let token: string;
const receivers: Receiver[] = [];

beforeAll(async () => {
  const loopback = parseCidr('127.0.0.0/8');
  if (loopback.kind === 'invalid') throw new Error(loopback.reason);
  fixture = await OperatorFixture.start({ WEBHOOK_ALLOWED_CIDRS: [loopback.cidr] });
  token = await fixture.createToken(fixture.merchantId, ['webhooks:admin']);
});
afterAll(async () => {
  await Promise.all(receivers.map((receiver) => receiver.stop()));
  await fixture?.stop();
});

async function receiver(answer?: Receiver['answer']): Promise<Receiver> {
  const started = await Receiver.start();
  if (answer) started.answer = answer;
  receivers.push(started);
  return started;
}

async function ask(method: string, path: string, body?: unknown): Promise<Hook> {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
  return (await (await fetch(`${fixture.base}/v1/webhooks${path}`, init)).json()) as Hook;
}

async function publish(): Promise<string> {
  const id = newId('evt');
  await fixture.prisma.$executeRaw`
    INSERT INTO events (id, merchant_id, type, subject_id, data)
    VALUES (${id}, ${fixture.merchantId}, 'receipt.registered', ${newId('rcp')}, '{}'::jsonb)`;
  return id;
}

test('the five days begin with the new address', async () => {
  const dead = await receiver((_received, response) => void response.writeHead(500).end());
  const struggling = await receiver((_received, response) => void response.writeHead(503).end());
  const { id } = await ask('POST', '', { url: dead.url });
  await publish();
  await untilTrue(async () => (await ask('GET', `/${id}`)).failing_since !== null);
  await fixture.prisma.$executeRaw`
    UPDATE webhook_endpoints SET failing_since = now() - interval '6 days', blocked_until = now() + interval '5 minutes' WHERE id = ${id}`;
  expect(await ask('PATCH', `/${id}`, { url: struggling.url })).toMatchObject({ enabled: true, failing_since: null });
  await publish();
  await untilTrue(() => struggling.received.length > 0);
  await untilTrue(async () => (await ask('GET', `/${id}`)).failing_since !== null);
  expect(await ask('GET', `/${id}`)).toMatchObject({ enabled: true });
  expect(Date.parse((await ask('GET', `/${id}`)).failing_since ?? '')).toBeGreaterThan(Date.now() - 3_600_000);
  await ask('PATCH', `/${id}`, { enabled: false });
});

test('410 of the receiver before, which answers after the move, disables nothing; the new one gets what waited', async () => {
  const held: ServerResponse[] = [];
  const before = await receiver((_received, response) => void held.push(response));
  const after = await receiver();
  const { id } = await ask('POST', '', { url: before.url });
  const event = await publish();
  await untilTrue(() => held.length === 1);
  await ask('PATCH', `/${id}`, { url: after.url });
  held[0]?.writeHead(410).end();
  await untilTrue(() => after.received.some((received) => received.event.id === event));
  await publish();
  await untilTrue(() => after.received.length === 2);
  // Made before the move, sent after it.
  const { data } = (await ask('GET', `/${id}/deliveries?state=delivered`)) as unknown as {
    data: { event_id: string; url: string }[];
  };
  expect(data.find(({ event_id: of }) => of === event)?.url).toBe(`${after.url}/`);
  expect(await ask('GET', `/${id}`)).toMatchObject({ enabled: true });
  expect((await fixture.audited(id)).map(({ action }) => action)).toEqual(['webhook.create', 'webhook.change']);
});

const stateOf = (
  id: string,
  event: string,
): Promise<{ state: string; url: string; is_due: boolean; tried: number }[]> =>
  fixture.prisma.$queryRaw`
    SELECT state::text, url, due_at <= now() AS is_due,
           (SELECT count(*)::int4 FROM webhook_attempts t WHERE t.delivery_id = d.id) AS tried
      FROM webhook_deliveries d WHERE endpoint_id = ${id} AND event_id = ${event}`;

test.each([200, 503])(
  '%i of the receiver before, which comes after the move, ends and postpones nothing, and nothing more goes there',
  async (status) => {
    const [heldBefore, heldAfter]: [ServerResponse[], ServerResponse[]] = [[], []];
    const before = await receiver((_received, response) => void heldBefore.push(response));
    const after = await receiver((_received, response) => void heldAfter.push(response));
    const { id } = await ask('POST', '', { url: before.url });
    // One at a time: the others follow when the first is answered.
    await fixture.prisma.$executeRaw`UPDATE webhook_endpoints SET concurrency = 1 WHERE id = ${id}`;
    const [first, ...others] = [await publish(), await publish(), await publish()];
    await untilTrue(() => heldBefore.length === 1);
    await ask('PATCH', `/${id}`, { url: after.url });
    await untilTrue(() => heldAfter.length === 1);
    heldBefore[0]?.writeHead(status).end();
    await untilTrue(async () => (await stateOf(id, first))[0]?.tried === 1);
    expect(await stateOf(id, first)).toMatchObject([{ state: 'pending', is_due: true }]);
    for (const held of heldAfter) held.writeHead(200).end();
    after.answer = (_received, response) => void response.writeHead(200).end();
    for (const event of [first, ...others]) {
      await untilTrue(async () => (await stateOf(id, event))[0]?.state === 'delivered');
      expect(await stateOf(id, event)).toMatchObject([{ url: `${after.url}/` }]);
      expect(after.received.some((received) => received.event.id === event)).toBe(true);
    }
    expect(before.received).toHaveLength(1);
    await ask('PATCH', `/${id}`, { enabled: false });
  },
);

test('what the receiver before has refused goes to the new one at once', async () => {
  const before = await receiver((_received, response) => void response.writeHead(500).end());
  const after = await receiver();
  const { id } = await ask('POST', '', { url: before.url });
  const event = await publish();
  await untilTrue(async () => (await stateOf(id, event))[0]?.tried === 1);
  await fixture.prisma
    .$executeRaw`UPDATE webhook_deliveries SET due_at = now() + interval '1 hour' WHERE endpoint_id = ${id}`;
  await ask('PATCH', `/${id}`, { url: after.url });
  await untilTrue(async () => (await stateOf(id, event))[0]?.state === 'delivered');
  expect(after.received.map((received) => received.event.id)).toEqual([event]);
});
