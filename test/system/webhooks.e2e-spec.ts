// Promise: what happened reaches the merchant's receiver, each event at least once and in order, though gateways are killed.
import { Webhook } from 'standardwebhooks';
import { Receiver } from '../../apps/gateway/src/notify/webhooks/testing/receiver.js';
import { startSystem, type TestSystem } from './system.js';
import { until } from '../../libs/runtime/src/testing/until.js';
const SALES = 30;
let system: TestSystem;
let receiver: Receiver;

beforeAll(async () => {
  receiver = await Receiver.start();
  system = await startSystem({
    gateways: 2,
    registers: 1,
    scopes: ['receipts:write', 'receipts:read', 'webhooks:admin'],
  });
});
afterAll(async () => {
  await system?.stop();
  await receiver?.stop();
});

test('both gateways are killed while they deliver: nothing is missing, nothing is out of order', async () => {
  const created = await system.client.post('/v1/webhooks', { url: `${receiver.url}/hook`, events: ['receipt.*'] });
  const { secret } = created.body as unknown as { secret: string };
  expect(created.status).toBe(201);
  // Slow enough that a kill meets requests under way.
  receiver.answer = (_received, response) => void setTimeout(() => response.writeHead(204).end(), 50);
  const ids: string[] = [];
  for (let sold = 0; sold < SALES; sold += 1) {
    const { status, body } = await system.client.post('/v1/receipts', system.client.saleOf(0), {
      prefer: 'respond-async',
    });
    expect(status).toBe(202);
    ids.push(body.id ?? '');
  }
  await until(
    'a few have arrived',
    () => receiver.received.length,
    (count) => count > 3,
  );
  await Promise.all(system.gateways.map((gateway) => gateway.end('SIGKILL')));
  await Promise.all(system.gateways.map((gateway) => gateway.start()));
  const typesOf = (id: string): string[] => [
    ...new Set(receiver.received.filter(({ event }) => event.data['receipt_id'] === id).map(({ event }) => event.type)),
  ];
  const missing = (): string[] => ids.filter((id) => !typesOf(id).includes('receipt.registered'));
  await until('every receipt is notified as registered', missing, ({ length }) => length === 0, 100_000);
  for (const id of ids) expect([id, typesOf(id)]).toEqual([id, ['receipt.accepted', 'receipt.registered']]);
  for (const { body, headers } of receiver.received) {
    expect(() => new Webhook(secret).verify(body, headers as Record<string, string>)).not.toThrow();
  }
});
