// Promise: what a merchant subscribed to arrives, signed, at least once, in order for each receipt, and a dead receiver delays no other endpoint.
import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { parseCidr, type Cidr } from '#outgoing';
import { newId } from '#runtime';
import { OperatorFixture } from '../../operator/testing/operator-fixture.js';
import { writeReceipt } from '../../receipts/search/testing/receipt-rows.js';
import { Receiver, type Received } from './testing/receiver.js';
import { untilTrue } from '../../../../../libs/runtime/src/testing/until.js';

let fixture: OperatorFixture;
let receivers: Receiver[] = [];
let merchantId: string;
let token: string;

beforeAll(async () => {
  fixture = await OperatorFixture.start({ WEBHOOK_ALLOWED_CIDRS: [networkOf('127.0.0.0/8')] });
});
beforeEach(async () => {
  merchantId = fixture.merchantId = await fixture.createMerchant();
  token = await fixture.createToken(merchantId, ['webhooks:admin']);
});
afterEach(async () => {
  await Promise.all(receivers.map((receiver) => receiver.stop()));
  receivers = [];
});
afterAll(() => fixture.stop());

function networkOf(text: string): Cidr {
  const parse = parseCidr(text);
  if (parse.kind === 'invalid') throw new Error(parse.reason);
  return parse.cidr;
}

interface Body {
  [field: string]: unknown;
  id: string;
  secret: string;
  code: string;
  errors: { pointer: string; code: string }[];
  data: { id: string; type: string; state: string; event_id: string; attempts: Record<string, unknown>[] }[];
}

async function ask(
  method: string,
  path: string,
  { body, by = token }: { body?: unknown; by?: string } = {},
): Promise<{ status: number; body: Body }> {
  const headers: Record<string, string> = { authorization: `Bearer ${by}` };
  if (body !== undefined) headers['content-type'] = 'application/json';
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
  const response = await fetch(`${fixture.base}/v1/webhooks${path}`, init);
  const text = await response.text();
  return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as Body };
}

async function receiver(): Promise<Receiver> {
  const started = await Receiver.start();
  receivers.push(started);
  return started;
}

async function webhook(url: string, more: Record<string, unknown> = {}): Promise<Body> {
  const { status, body } = await ask('POST', '', { body: { url, ...more } });
  expect(status).toBe(201);
  return body;
}

async function publish(type: string, subjectId: string = newId('rcp'), data = {}): Promise<string> {
  const id = newId('evt');
  await fixture.prisma.$executeRaw`
    INSERT INTO events (id, merchant_id, type, subject_id, data)
    VALUES (${id}, ${merchantId}, ${type}, ${subjectId}, ${JSON.stringify(data)}::jsonb)`;
  return id;
}

/** As if the waiting of an endpoint and its deliveries were over; not while a gateway has it in hand, which would overwrite that. */
async function letTimePass(webhookId: string): Promise<void> {
  await untilTrue(async () => {
    const changed = await fixture.prisma.$executeRaw`
      WITH resting AS (
        UPDATE webhook_endpoints SET due_at = now(), blocked_until = NULL WHERE id = ${webhookId} AND lease_until IS NULL RETURNING id
      )
      UPDATE webhook_deliveries SET due_at = now() WHERE endpoint_id IN (SELECT id FROM resting)`;
    return changed > 0;
  });
}

const deliveries = async (id: string): Promise<Body['data']> => (await ask('GET', `/${id}/deliveries`)).body.data;
const isQuiet = async (id: string): Promise<boolean> =>
  (await deliveries(id)).every(({ state }) => state === 'delivered');

function verify({ headers, body }: Received, secret: string): void {
  new Webhook(secret).verify(body, headers as Record<string, string>);
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const id = String(headers['webhook-id']);
  const signed = `${id}.${String(headers['webhook-timestamp'])}.${body}`;
  const own = createHmac('sha256', key).update(signed).digest('base64');
  expect(String(headers['webhook-signature']).split(' ')).toContain(`v1,${own}`);
}

test('an event arrives as the log has it, signed; the secret is shown once and lies sealed', async () => {
  const there = await receiver();
  const hook = await webhook(`${there.url}/hook?a=b`, { events: ['receipt.*'] });
  await publish('device.online');
  const id = await publish('receipt.registered', newId('rcp'), { receipt_id: 'rcp_1' });
  await untilTrue(() => there.received.length === 1);
  const [got] = there.received;
  expect(got!.path).toBe('/hook?a=b');
  expect(got!.headers).toMatchObject({ 'content-type': 'application/json', 'webhook-id': id });
  expect(got!.event).toMatchObject({
    id,
    type: 'receipt.registered',
    merchant_id: merchantId,
    data: { receipt_id: 'rcp_1' },
  });
  verify(got!, hook.secret);
  await untilTrue(() => isQuiet(hook.id));
  expect((await deliveries(hook.id))[0]).toMatchObject({
    ...{ event_id: id, state: 'delivered' },
    attempts: [{ number: 1, outcome: 'delivered', http_status: 204 }],
  });
  const { body } = await ask('GET', `/${hook.id}`);
  expect(body).not.toHaveProperty('secret');
  const [row] = await fixture.prisma.$queryRaw<{ dump: string }[]>`
    SELECT concat((SELECT jsonb_agg(s) FROM webhook_secrets s), (SELECT jsonb_agg(e) FROM webhook_endpoints e),
                  (SELECT jsonb_agg(a) FROM audit_records a)) AS dump`;
  expect(row!.dump).not.toContain(hook.secret.slice('whsec_'.length));
  expect(row!.dump).not.toContain(Buffer.from(hook.secret).toString('hex'));
  expect((await fixture.audited(hook.id)).map(({ action }) => action)).toEqual(['webhook.create']);
});

test('in order for each receipt: what comes behind a failed one waits, other receipts do not', async () => {
  const there = await receiver();
  const hook = await webhook(there.url);
  const [stuck, other] = [newId('rcp'), newId('rcp')];
  let isBroken = true;
  there.answer = ({ event }, response) =>
    void response
      .writeHead(isBroken && event.data['of'] === stuck && event.type === 'receipt.accepted' ? 500 : 200)
      .end('no');
  await publish('receipt.accepted', stuck, { of: stuck });
  await untilTrue(() => there.received.length === 1);
  await publish('receipt.registered', stuck, { of: stuck });
  await publish('receipt.accepted', other, { of: other });
  await untilTrue(async () => (await deliveries(hook.id)).length === 3);
  // All that may go goes at the same time, and the first one of the stuck receipt fails again.
  await fixture.prisma.$executeRaw`UPDATE webhook_endpoints SET failing_since = NULL WHERE id = ${hook.id}`;
  await letTimePass(hook.id);
  await untilTrue(() => there.received.length >= 3 && there.received.some(({ event }) => event.data['of'] === other));
  expect(there.received.filter(({ event }) => event.data['of'] === stuck).map(({ event }) => event.type)).not.toContain(
    'receipt.registered',
  );
  isBroken = false;
  await letTimePass(hook.id);
  await untilTrue(() => isQuiet(hook.id));
  const stuckTypes = there.received.filter(({ event }) => event.data['of'] === stuck).map(({ event }) => event.type);
  expect([...new Set(stuckTypes)]).toEqual(['receipt.accepted', 'receipt.registered']);
  expect(stuckTypes.at(-1)).toBe('receipt.registered');
  const first = (await deliveries(hook.id)).at(-1)!;
  expect(first.attempts[0]).toMatchObject({ outcome: 'refused_by_receiver', http_status: 500, answer: 'no' });
});

test('the schedule: the second try comes after 5 seconds, the tenth failure is the last', async () => {
  const there = await receiver();
  there.answer = (_received, response) => void response.writeHead(503).end();
  const hook = await webhook(there.url);
  await publish('receipt.registered');
  for (let tries = 1; tries <= 10; tries += 1) {
    await untilTrue(async () => (await deliveries(hook.id))[0]?.attempts.length === tries);
    if (tries === 1) {
      const { due_at: due } = (await deliveries(hook.id))[0] as unknown as { due_at: string };
      const [row] = await fixture.prisma.$queryRaw<{ seconds: number }[]>`
        SELECT extract(epoch FROM ${due}::timestamptz - at)::float8 AS seconds FROM webhook_attempts a
          JOIN webhook_deliveries d ON d.id = a.delivery_id WHERE d.endpoint_id = ${hook.id}`;
      expect(row!.seconds).toBeGreaterThanOrEqual(4.9);
      // The third one would come after minutes.
      expect(row!.seconds).toBeLessThan(30);
    }
    if (tries < 10) await letTimePass(hook.id);
  }
  expect((await deliveries(hook.id))[0]).toMatchObject({ state: 'failed', due_at: null });
  expect(new Set(there.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
});

test('410 disables at once, with an event and a record; enabled again, what waited goes out', async () => {
  const there = await receiver();
  const watching = await receiver();
  await webhook(watching.url, { events: ['webhook.disabled'] });
  there.answer = (_received, response) => void response.writeHead(410).end();
  const hook = await webhook(there.url, { events: ['receipt.*'] });
  await publish('receipt.registered');
  await untilTrue(() => watching.received.length === 1);
  expect(watching.received[0]!.event.data).toMatchObject({ webhook_id: hook.id });
  expect((await ask('GET', `/${hook.id}`)).body).toMatchObject({ enabled: false, disabled_reason: expect.any(String) });
  expect((await fixture.audited(hook.id)).map(({ action }) => action)).toEqual(['webhook.create', 'webhook.disable']);
  expect((await ask('POST', `/${hook.id}/test`)).body.code).toBe('webhook_disabled');
  const missed = await publish('receipt.registered');
  there.answer = (_received, response) => void response.end();
  expect((await ask('PATCH', `/${hook.id}`, { body: { enabled: true } })).body).toMatchObject({ enabled: true });
  await untilTrue(() => isQuiet(hook.id));
  await untilTrue(async () => (await ask('POST', `/${hook.id}/replay`, { body: { event_id: missed } })).status === 202);
  await untilTrue(() => there.received.some(({ event }) => event.id === missed));
});

test('five days without a success disable; a success in between begins them anew', async () => {
  const there = await receiver();
  let status = 500;
  there.answer = (_received, response) => void response.writeHead(status).end();
  const hook = await webhook(there.url);
  const failing = (interval: string): Promise<number> =>
    fixture.prisma.$executeRawUnsafe(
      `UPDATE webhook_endpoints SET failing_since = now() - interval '${interval}' WHERE id = '${hook.id}'`,
    );
  await publish('receipt.registered');
  await untilTrue(async () => (await ask('GET', `/${hook.id}`)).body['failing_since'] !== null);
  status = 200;
  await failing('6 days');
  await letTimePass(hook.id);
  await untilTrue(async () => (await ask('GET', `/${hook.id}`)).body['failing_since'] === null);
  status = 500;
  await publish('receipt.registered');
  await untilTrue(async () => (await ask('GET', `/${hook.id}`)).body['failing_since'] !== null);
  expect((await ask('GET', `/${hook.id}`)).body).toMatchObject({ enabled: true });
  await failing('6 days');
  await letTimePass(hook.id);
  await untilTrue(async () => (await ask('GET', `/${hook.id}`)).body['enabled'] === false);
});

test('a redirect is not followed, a silent or dead receiver delays no other endpoint', async () => {
  const [redirecting, silent, well, secret] = [await receiver(), await receiver(), await receiver(), await receiver()];
  redirecting.answer = (_received, response) => void response.writeHead(302, { location: secret.url }).end();
  silent.answer = () => undefined;
  const hook = await webhook(redirecting.url);
  await webhook(silent.url);
  await webhook('http://127.0.0.1:9/');
  await webhook(well.url);
  for (let sent = 0; sent < 20; sent += 1) await publish('receipt.registered');
  await untilTrue(() => well.received.length === 20 && redirecting.received.length > 0);
  expect(secret.received).toEqual([]);
  await untilTrue(async () => (await deliveries(hook.id)).some(({ attempts }) => attempts[0]?.['http_status'] === 302));
});

test('secrets change with two signatures, and with none left over when asked so', async () => {
  const there = await receiver();
  const hook = await webhook(there.url);
  const rotated = (await ask('POST', `/${hook.id}/rotate-secret`, { body: {} })).body;
  expect(rotated['previous_valid_until']).toEqual(expect.any(String));
  await publish('receipt.registered');
  await untilTrue(() => there.received.length === 1);
  verify(there.received[0]!, hook.secret);
  verify(there.received[0]!, rotated.secret);
  const last = (await ask('POST', `/${hook.id}/rotate-secret`, { body: { overlap_hours: 0 } })).body;
  await publish('receipt.registered');
  await untilTrue(() => there.received.length === 2);
  verify(there.received[1]!, last.secret);
  expect(() => verify(there.received[1]!, rotated.secret)).toThrow();
});

test('a new secret asks for no body', async () => {
  const hook = await webhook((await receiver()).url);
  for (const path of [`/${hook.id}/rotate-secret`, '/callbacks/rotate-secret']) {
    const { status, body } = await ask('POST', path);
    expect([status, body['secret']]).toEqual([200, expect.stringMatching(/^whsec_/)]);
    const wrong = await ask('POST', path, { body: { overlap: 1 } });
    expect([wrong.status, wrong.body['code']]).toEqual([422, 'unknown_field']);
  }
});

test('another origin gets a new secret, shown once, and no signature by the one before; another path keeps it', async () => {
  const [there, elsewhere] = [await receiver(), await receiver()];
  const hook = await webhook(there.url);
  const samePlace = await ask('PATCH', `/${hook.id}`, { body: { url: `${there.url}/other` } });
  expect(samePlace.body).not.toHaveProperty('secret');
  await ask('POST', `/${hook.id}/rotate-secret`, { body: {} });
  const moved = await ask('PATCH', `/${hook.id}`, { body: { url: `${elsewhere.url}/hook` } });
  expect(moved.body.secret).toMatch(/^whsec_/);
  expect(moved.body.secret).not.toBe(hook.secret);
  expect((await ask('GET', `/${hook.id}`)).body).not.toHaveProperty('secret');
  expect(JSON.stringify(await fixture.audited(hook.id))).not.toContain(moved.body.secret);
  await publish('receipt.registered');
  await untilTrue(() => elsewhere.received.length === 1);
  verify(elsewhere.received[0]!, moved.body.secret);
  expect(() => verify(elsewhere.received[0]!, hook.secret)).toThrow();
  // One signature: nothing is left of the secrets that the other receiver has.
  expect(String(elsewhere.received[0]!.headers['webhook-signature']).split(' ')).toHaveLength(1);
});

test('callback_url of a receipt: signed with the merchant’s callback secret, listed for the receipt', async () => {
  const there = await receiver();
  const { secret } = (await ask('POST', '/callbacks/rotate-secret', { body: {} })).body;
  const receiptId = await writeReceipt(fixture.prisma, { merchantId, callbackUrl: `${there.url}/order/7` });
  await publish('receipt.accepted', receiptId);
  await publish('receipt.registered', receiptId, { receipt_id: receiptId });
  await publish('receipt.registered', await writeReceipt(fixture.prisma, { merchantId }));
  await untilTrue(() => there.received.length === 1);
  expect(there.received[0]).toMatchObject({ path: '/order/7', event: { type: 'receipt.registered' } });
  verify(there.received[0]!, secret);
  const list = (by: string): Promise<{ body: Body }> => ask('GET', `/callbacks?receipt_id=${receiptId}`, { by });
  await untilTrue(async () => (await list(token)).body.data[0]?.state === 'delivered');
  expect((await ask('GET', '')).body.data).toEqual([]);
  const stranger = await fixture.createToken(await fixture.createMerchant(), ['webhooks:admin']);
  expect((await list(stranger)).body.data).toEqual([]);
});

test('a test event goes to this endpoint alone; replay by time brings what the filter wants, in order', async () => {
  const [one, two] = [await receiver(), await receiver()];
  const before = await publish('receipt.registered');
  const hook = await webhook(one.url, { events: ['receipt.registered'] });
  await webhook(two.url);
  await publish('device.online');
  const after = await publish('receipt.registered');
  expect((await ask('POST', `/${hook.id}/test`)).status).toBe(202);
  await untilTrue(() => one.received.length === 2 && two.received.length === 2);
  expect(one.types().sort()).toEqual(['receipt.registered', 'webhook.test']);
  const span = { from: new Date(Date.now() - 60_000).toISOString(), to: new Date(Date.now() + 60_000).toISOString() };
  const { status, body } = await ask('POST', `/${hook.id}/replay`, { body: span });
  expect([status, body['deliveries']]).toEqual([202, 2]);
  await untilTrue(() => one.received.length === 4);
  expect(
    one.received
      .slice(2)
      .map(({ event }) => event.id)
      .sort(),
  ).toEqual([before, after]);
  // What comes later is made later: by now the other endpoint would have received the test.
  await publish('device.blocked');
  await untilTrue(() => two.types().includes('device.blocked'));
  expect(two.types()).not.toContain('webhook.test');
});

test('what a dead gateway had in hand is taken up when its lease has ended', async () => {
  const there = await receiver();
  const hook = await webhook(there.url);
  // As a killed process leaves it: claimed, nothing sent, nothing recorded.
  const leaseEnds = (inMs: number): Promise<number> => fixture.prisma.$executeRaw`
    UPDATE webhook_endpoints SET lease_until = now() + ${inMs} * interval '1 ms' WHERE id = ${hook.id}`;
  await leaseEnds(3_600_000);
  await publish('receipt.registered');
  await untilTrue(async () => (await deliveries(hook.id)).length === 1);
  expect(there.received).toEqual([]);
  await leaseEnds(0);
  await untilTrue(() => there.received.length === 1);
});

test.each([
  [{ url: 'ftp://8.8.8.8/' }, '/url', 'invalid_format'],
  [{ url: 'https://user:pw@8.8.8.8/' }, '/url', 'invalid_format'],
  [{ url: 'https://10.0.0.1/' }, '/url', 'address_not_allowed'],
  [{ url: 'https://[::ffff:10.0.0.1]/' }, '/url', 'address_not_allowed'],
  [{ url: 'http://8.8.8.8/' }, '/url', 'address_not_allowed'],
  [{}, '/url', 'required'],
  [{ url: 'https://8.8.8.8/', events: [] }, '/events', 'too_few'],
  [{ url: 'https://8.8.8.8/', events: ['receipt'] }, '/events', 'invalid_format'],
  [{ url: 'https://8.8.8.8/', secret: 'mine' }, '/secret', 'unknown_field'],
])('%j is refused', async (body, pointer, code) => {
  const answer = await ask('POST', '', { body });
  expect([answer.status, answer.body.errors[0]?.pointer, answer.body.errors[0]?.code]).toEqual([422, pointer, code]);
});

test.each([
  [{}, ''],
  [{ event_id: 'evt_1' }, '/event_id'],
  [{ event_id: newId('evt') }, '/event_id'],
  [{ from: '2026-01-02T00:00:00Z' }, ''],
  [{ from: '2026-01-02T00:00:00Z', to: '2026-01-02T00:00:00Z' }, '/from'],
  [{ from: 'then', to: 'now' }, '/from'],
  [{ event_id: newId('evt'), to: '2026-01-02T00:00:00Z' }, '/event_id'],
])('replay of %j is refused', async (body, pointer) => {
  const hook = await webhook('http://127.0.0.1:9/');
  const answer = await ask('POST', `/${hook.id}/replay`, { body });
  expect([answer.status, answer.body.errors[0]?.pointer]).toEqual([422, pointer]);
});

test('kept, changed, deleted; foreign ones do not exist', async () => {
  const hook = await webhook('http://127.0.0.1:9/', { description: 'ERP' });
  const changed = await ask('PATCH', `/${hook.id}`, { body: { events: ['refund.*'], description: 'new' } });
  expect(changed.body).toMatchObject({ events: ['refund.*'], description: 'new', url: 'http://127.0.0.1:9/' });
  const by = await fixture.createToken(await fixture.createMerchant(), ['webhooks:admin']);
  const calls: [string, string, unknown?][] = [
    ...([
      ['GET', ''],
      ['PATCH', '', {}],
      ['DELETE', ''],
      ['GET', '/deliveries'],
      ['POST', '/test'],
    ] as [string, string][]),
    ['POST', '/rotate-secret', {}],
    ['POST', '/replay', { event_id: newId('evt') }],
  ];
  for (const [method, path, body] of calls) {
    expect([method, path, (await ask(method, `/${hook.id}${path}`, { body, by })).status]).toEqual([method, path, 404]);
  }
  expect((await ask('GET', '', { by })).body.data).toEqual([]);
  expect((await ask('DELETE', `/${hook.id}`)).status).toBe(204);
  expect((await ask('GET', `/${hook.id}`)).status).toBe(404);
  const actions = (await fixture.audited(hook.id)).map(({ action }) => action);
  expect(actions).toEqual(['webhook.create', 'webhook.change', 'webhook.delete']);
  const reader = await fixture.createToken(merchantId, ['receipts:read']);
  expect((await ask('GET', '', { by: reader })).status).toBe(403);
});

test('at most fifty', async () => {
  const data = Array.from({ length: 50 }, () => ({
    id: newId('whk'),
    merchantId,
    url: 'http://127.0.0.1:9/',
    events: ['*'],
  }));
  await fixture.prisma.webhookEndpoint.createMany({ data });
  const answer = await ask('POST', '', { body: { url: 'http://127.0.0.1:9/' } });
  expect([answer.status, answer.body.code]).toEqual([422, 'webhook_limit_reached']);
});
