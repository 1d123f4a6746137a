// Promise: `fgw listen` brings every event to a receiver on this machine, through kills and restarts, as production would send it.
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { FiscalGateway } from '#sdk';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { startSystem, type TestSystem } from '../system/system.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { Fgw, type Staying } from './fgw.js';

const RESTARTS = 10;

interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  event: { id: string; type: string; data: { receipt_id?: string } };
}

let system: TestSystem;
let fgw: Fgw;
let sdk: FiscalGateway;
let server: Server;
let port: number;
let secret: string;
let received: Received[] = [];
/** What the receiver answers; it takes everything. */
let answerOf: (path: string) => number = () => 204;

beforeAll(async () => {
  system = await startSystem({ scopes: ['receipts:write', 'receipts:read', 'webhooks:admin'] });
  const { clientId, clientSecret } = system.merchant;
  const baseUrl = system.gatewayUrls[0]!;
  fgw = new Fgw({ FGW_URL: baseUrl, FGW_CLIENT_ID: clientId, FGW_CLIENT_SECRET: clientSecret });
  sdk = new FiscalGateway({ baseUrl, credentials: { clientId, clientSecret } });
  port = await freePorts(1);
  await openReceiver();
  secret = (await fgw.run(['listen', '--print-secret'])).stdout.trim();
});
afterAll(async () => {
  await fgw?.stop();
  await closeReceiver();
  await system?.stop();
});
beforeEach(() => {
  received = [];
  answerOf = () => 204;
});

async function openReceiver(): Promise<void> {
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const path = request.url ?? '';
      received.push({ path, headers: request.headers, body, event: JSON.parse(body) as Received['event'] });
      response.writeHead(answerOf(path)).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
}

async function closeReceiver(): Promise<void> {
  if (!server.listening) return;
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
}

let sales = 0;
async function sell(): Promise<string> {
  sales += 1;
  const { goods, tills } = system.merchant;
  const items = [{ name: goods[0]!, price: 112_000, qty: 1 }];
  const sale = { items, payment: { method: 'cash' as const }, cashier_id: tills[0]!.cashierId };
  const { id } = await sdk.receipts.create(sale, { idempotencyKey: `listen-${sales}` });
  return id;
}

function listen(path: string, ...more: string[]): Staying {
  return fgw.start(['listen', '--forward-to', `http://127.0.0.1:${port}${path}`, ...more]);
}

const isListening = (staying: Staying) =>
  until(
    'it listens',
    () => staying.stderr(),
    (text) => text.includes('Forwarding'),
  );
const of = (path: string) => received.filter((one) => one.path === path);

test('each event comes with the body, the headers and the signature of production', async () => {
  const { id, secret: theirs } = await sdk.webhooks.create({ url: `http://127.0.0.1:${port}/production` });
  const staying = listen('/here');
  await isListening(staying);
  await sell();
  await until(
    'both have it',
    () => [of('/production').length, of('/here').length],
    ([one, other]) => one! >= 2 && other! >= 2,
  );
  await sdk.webhooks.remove(id);
  await staying.end('SIGTERM');
  for (const produced of of('/production')) {
    const own = of('/here').find(({ event }) => event.id === produced.event.id);
    expect(own?.body).toBe(produced.body);
    for (const name of ['webhook-id', 'content-type', 'user-agent'])
      expect(own?.headers[name]).toBe(produced.headers[name]);
    expect(() => new Webhook(theirs).verify(produced.body, produced.headers as Record<string, string>)).not.toThrow();
    expect(() => new Webhook(secret).verify(own!.body, own!.headers as Record<string, string>)).not.toThrow();
    expect(() => new Webhook(theirs).verify(own!.body, own!.headers as Record<string, string>)).toThrow();
  }
  expect((await fgw.run(['listen', '--print-secret'])).stdout.trim()).toBe(secret);
});

test(`${RESTARTS} kills, and nothing is missing; sales go on while nothing listens`, async () => {
  const first = listen('/kills');
  await isListening(first);
  const sold = [await sell()];
  await first.end('SIGKILL');
  for (let nth = 0; nth < RESTARTS; nth += 1) {
    sold.push(await sell());
    const staying = listen('/kills');
    sold.push(await sell());
    // Some are killed while they begin, some in the middle of a delivery, some later.
    if (nth % 2 === 0) await isListening(staying);
    if (nth % 3 === 0) {
      const before = of('/kills').length;
      await until(
        'it delivers',
        () => of('/kills').length,
        (count) => count > before,
      );
    }
    await staying.end('SIGKILL');
  }
  const last = listen('/kills');
  const registered = () => of('/kills').filter(({ event }) => event.type === 'receipt.registered');
  const numbers = () => new Set(registered().map(({ event }) => event.data.receipt_id));
  await until(
    'all are there',
    () => sold.filter((id) => !numbers().has(id)),
    (missing) => missing.length === 0,
  );
  await last.end('SIGTERM');
  const accepted = new Set(
    of('/kills')
      .filter(({ event }) => event.type === 'receipt.accepted')
      .map(({ event }) => event.data.receipt_id),
  );
  expect(sold.filter((id) => !accepted.has(id))).toEqual([]);
});

test('a gateway that restarts and a receiver that is away are waited for', async () => {
  const staying = listen('/away');
  await isListening(staying);
  await closeReceiver();
  const sold = await sell();
  await until(
    'it has tried',
    () => staying.stdout(),
    (text) => text.includes('ECONNREFUSED'),
  );
  const [gateway] = system.gateways;
  await gateway!.end();
  await openReceiver();
  await until(
    'it says that the gateway is away',
    () => staying.stderr(),
    (text) => text.includes('is away'),
  );
  await gateway!.start();
  const later = await sell();
  const has = (id: string) =>
    of('/away').some(({ event }) => event.type === 'receipt.registered' && event.data.receipt_id === id);
  await until(
    'both are there',
    () => [has(sold), has(later)],
    (both) => both.every(Boolean),
  );
  expect(await staying.end('SIGINT')).toBe(130);
});

test('an event that the receiver refuses holds the others up for a while, not for ever', async () => {
  let refused = '';
  answerOf = () => {
    const { id } = received.at(-1)!.event;
    refused ||= id;
    return id === refused ? 500 : 204;
  };
  const staying = listen('/refuses', '--events', 'receipt.registered');
  await isListening(staying);
  await sell();
  await sell();
  await until(
    'the second one is taken',
    () => new Set(of('/refuses').map(({ event }) => event.id)).size,
    (count) => count === 2,
  );
  expect(of('/refuses').filter(({ event }) => event.id === refused)).toHaveLength(5);
  await staying.end('SIGTERM');
});

test('the secret is shown when it is drawn, and later only with --print-secret', async () => {
  const fresh = new Fgw({
    FGW_URL: system.gatewayUrls[0]!,
    FGW_CLIENT_ID: system.merchant.clientId,
    FGW_CLIENT_SECRET: system.merchant.clientSecret,
  });
  const startedWith = async (address: string): Promise<string> => {
    const staying = fresh.start(['listen', '--forward-to', address]);
    await isListening(staying);
    await staying.end('SIGTERM');
    return staying.stdout() + staying.stderr();
  };
  try {
    const first = await startedWith(`http://127.0.0.1:${port}/secret`);
    expect(first).toMatch(/whsec_/);
    expect(first).not.toContain('another machine');
    const later = await startedWith(`http://receiver.example.uz:${port}/secret`);
    expect(later).not.toMatch(/whsec_/);
    expect(later).toContain('is http to another machine: the events can be read on the way');
    const printed = (await fresh.run(['listen', '--print-secret'])).stdout.trim();
    expect(printed).toMatch(/^whsec_/);
    expect(first).toContain(printed);
  } finally {
    await fresh.stop();
  }
});
