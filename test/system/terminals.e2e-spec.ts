// Promise: a register that says it is another merchant's fiscal module keeps no shop from selling and gets nothing; a module that truly moves registers nothing twice.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { item, sale } from '../../apps/cash-register/src/testing/samples.js';
import { commandLine, type CommandEnd } from './command-line.js';
import { sql } from './database.js';
import { eventsSoFar, type FeedEvent } from './event-feed.js';
import { GatewayClient } from './gateway-client.js';
import { Program } from './program.js';
import { startSystem, type TestSystem } from './system.js';
import { until } from '../../libs/runtime/src/testing/until.js';

const SCOPES = ['receipts:write', 'receipts:read', 'devices:admin', 'operator:resolve'] as const;

interface Answer {
  status: number;
  body: Record<string, unknown> & {
    id: string;
    code: string;
    state: string;
    status: string;
    fiscal: { terminal_id: string; receipt_seq: number } | null;
    data: Record<string, unknown>[];
  };
}

/** A merchant's administrator and its till. */
class Shop extends GatewayClient {
  async ask(method: string, path: string, body?: unknown): Promise<Answer> {
    const json = body === undefined ? {} : { body: JSON.stringify(body) };
    const headers: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
    return (await this.call(method, path, { ...json, headers })) as unknown as Answer;
  }

  register(baseUrl: string, apiKey: string, profile: Record<string, unknown> = {}): Promise<Answer> {
    return this.ask('POST', '/v1/devices', {
      ...{ branch_id: 'main', name: 'Till', transport: 'http', base_url: baseUrl, api_key: apiKey },
      profile: { pacing_ms: 0, sharing: 'exclusive', ...profile },
    });
  }

  oneSale(deviceId: string, price = 112_000): Record<string, unknown> {
    const items = [{ name: this.merchant.goods[0], price, qty: 1 }];
    return { items, payment: { method: 'cash' }, device_id: deviceId, cashier_id: 'c' };
  }

  sell(deviceId: string, price?: number): Promise<Answer> {
    return this.ask('POST', '/v1/receipts', this.oneSale(deviceId, price));
  }

  events(): Promise<FeedEvent[]> {
    return eventsSoFar(system.database, this);
  }

  async eventTypes(): Promise<string[]> {
    return (await this.events()).map(({ type }) => type);
  }
}

/** A register of its own: on which OFD it reports, and which terminal it says it is, is its own word. */
interface TestTill {
  url: string;
  apiKey: string;
  program: Program;
  call(method: string, path: string, body?: unknown): Promise<Record<string, unknown>>;
}

let system: TestSystem;
const ends: (() => Promise<void>)[] = [];
let terminals = 0;

beforeAll(async () => {
  system = await startSystem({ registers: 1, relays: 2, scopes: SCOPES });
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});
afterAll(() => system?.stop());

function newTerminal(): string {
  terminals += 1;
  return `UZ${String(900_000_000_000 + terminals)}`;
}

async function shop(): Promise<Shop> {
  const opened = new Shop(system.gatewayUrls, await system.addMerchant());
  const cashier = await opened.ask('POST', '/v1/cashiers', { code: 'c', name: 'C', branch_id: 'main' });
  expect(cashier.status).toBe(201);
  return opened;
}

async function startTill(terminalId: string, ofdUrl: string, env: Record<string, string> = {}): Promise<TestTill> {
  const port = await freePorts(1);
  const url = `http://127.0.0.1:${String(port)}`;
  const apiKey = env['REGISTER_API_KEY'] ?? randomBytes(16).toString('hex');
  const program = new Program(
    'till',
    'cash-register/src/main.js',
    {
      ...{ REGISTER_PORT: String(port), DATA_DIR: join(system.folder, `till-${String(port)}`), OFD_URLS: ofdUrl },
      ...{ REGISTER_API_KEY: apiKey, REGISTER_TERMINAL_ID: terminalId, FM_MIN_INTERVAL_MS: '0', EMULATOR: '1' },
      ...env,
    },
    `${url}/status`,
  );
  await program.start();
  ends.push(() => program.end());
  const call = async (method: string, path: string, body?: unknown): Promise<Record<string, unknown>> => {
    const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
    const response = await fetch(`${url}${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return (await response.json()) as Record<string, unknown>;
  };
  return { url, apiKey, program, call };
}

/** No document of a false register reaches the tax office. */
async function noOfd(): Promise<string> {
  return `http://127.0.0.1:${String(await freePorts(1))}`;
}

const registered = (count: number, offset = 0): unknown[] =>
  Array.from({ length: count }, (_, at) => [201, 'registered', at + 1 + offset]);

async function sellAll(seller: Shop, deviceId: string, count: number): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (let at = 0; at < count; at += 1) {
    const { status, body } = await seller.sell(deviceId);
    answers.push([status, body.status, body.fiscal?.receipt_seq]);
  }
  return answers;
}

async function leave(seller: Shop, deviceId: string): Promise<void> {
  expect((await seller.ask('POST', `/v1/devices/${deviceId}/drain`)).status).toBe(200);
  await sql(system.database, "UPDATE devices SET draining_since = now() - interval '11 seconds' WHERE id = $1", [
    deviceId,
  ]);
  expect((await seller.ask('DELETE', `/v1/devices/${deviceId}`)).status).toBe(204);
}

/** Documents of a terminal at the tax office, by what they sold. */
async function documentsAtOfd(terminalId: string): Promise<Record<string, unknown>[]> {
  const response = await fetch(`${system.ofdUrl}/documents?terminal_id=${terminalId}`);
  return ((await response.json()) as { data: Record<string, unknown>[] }).data;
}

const cli = (...args: string[]): Promise<CommandEnd> => commandLine(system, ...args);

test('a false register that was first: its true owner proves the terminal, sells, and loses no number to it', async () => {
  const terminal = newTerminal();
  const [thief, owner] = [await shop(), await shop()];
  const [falseTill, till] = [await startTill(terminal, await noOfd()), await startTill(terminal, system.ofdUrl)];
  const taken = await thief.register(falseTill.url, falseTill.apiKey);
  expect(taken).toMatchObject({ status: 201, body: { state: 'online', terminal_id: terminal } });
  expect(await sellAll(thief, taken.body.id, 5)).toEqual(registered(5));
  await leave(thief, taken.body.id);

  // Known at another merchant, and not in silence.
  const { status, body: device } = await owner.register(till.url, till.apiKey);
  expect({ status, device }).toMatchObject({
    status: 201,
    device: { state: 'claimed_elsewhere', terminal_id: terminal },
  });
  expect(device['state_reason']).toContain('held by another merchant');
  expect((await owner.sell(device.id)).body.code).toBe('no_device');
  for (const what of ['disable', 'enable']) await owner.ask('POST', `/v1/devices/${device.id}/${what}`);
  expect((await owner.ask('GET', `/v1/devices/${device.id}`)).body.state).toBe('claimed_elsewhere');
  expect(await owner.eventTypes()).toContain('device.claimed_elsewhere');
  expect((await thief.events()).find(({ type }) => type === 'device.terminal_contested')).toMatchObject({
    data: { terminal_id: terminal },
  });

  const prove = (url: string): Promise<Answer> =>
    owner.ask('POST', `/v1/devices/${device.id}/terminal-proof`, { verification_url: url });
  expect((await prove('https://ofd.soliq.uz/check')).body.code).toBe('challenge_missing');
  const challenge = await owner.ask('POST', `/v1/devices/${device.id}/terminal-challenge`);
  expect(challenge).toMatchObject({ status: 201, body: { terminal_id: terminal } });
  const word = String(challenge.body['word']);

  // A receipt without the word, one of another terminal, and a word that only the address says.
  await till.call('POST', '/z-report/open');
  const plain = (await till.call('POST', '/receipts', sale())) as { receipt: { qrUrl: string } };
  expect((await prove(plain.receipt.qrUrl)).body.code).toBe('terminal_not_proven');
  expect((await prove(plain.receipt.qrUrl.replace(terminal, newTerminal()))).body.code).toBe('contradicts_link');
  expect((await prove(plain.receipt.qrUrl.replace(/s=\d+/, `s=${word}`))).body.code).toBe('invalid_format');
  const byThief = (await falseTill.call('POST', '/receipts', sale({ items: [item({ name: word })] }))) as typeof plain;
  expect((await prove(byThief.receipt.qrUrl)).body.code).toBe('terminal_not_proven');

  const proof = (await till.call('POST', '/receipts', sale({ items: [item({ name: word })] }))) as typeof plain;
  const proven = await until(
    'the OFD has the receipt of the challenge',
    () => prove(proof.receipt.qrUrl),
    ({ status: answered }) => answered === 200,
  );
  expect(proven.body).toMatchObject({ state: 'online', state_reason: null });
  // The module has counted two documents by now; the false one had 1 to 6.
  expect(await sellAll(owner, device.id, 5)).toEqual(registered(5, 2));

  const trail = await sql<{ merchant_id: string; action: string; actor: string }>(
    system.database,
    "SELECT merchant_id, action, actor FROM audit_records WHERE action LIKE 'terminal.%' ORDER BY at",
  );
  expect(trail).toEqual(
    expect.arrayContaining([
      { merchant_id: owner.merchant.merchantId, action: 'terminal.challenge', actor: owner.merchant.clientId },
      { merchant_id: owner.merchant.merchantId, action: 'terminal.claim', actor: owner.merchant.clientId },
      { merchant_id: thief.merchant.merchantId, action: 'terminal.lose', actor: 'gateway' },
    ]),
  );
  // Its word is worth nothing now.
  const again = await thief.register(falseTill.url, falseTill.apiKey);
  expect(again.body.state).toBe('claimed_elsewhere');
  expect(await owner.eventTypes()).toContain('device.terminal_contested');
  expect(await sellAll(owner, device.id, 2)).toEqual(registered(2, 7));
});

test('numbers 1 to 5 that a false register took: the true one registers its own 1 to 5, none is ever unknown', async () => {
  const terminal = newTerminal();
  const [thief, owner] = [await shop(), await shop()];
  const [falseTill, till] = [await startTill(terminal, await noOfd()), await startTill(terminal, system.ofdUrl)];
  const { body: taken } = await thief.register(falseTill.url, falseTill.apiKey);
  expect(await sellAll(thief, taken.id, 5)).toEqual(registered(5));
  await leave(thief, taken.id);

  const given = await cli(
    'terminal',
    'give',
    terminal,
    '--merchant',
    owner.merchant.merchantId,
    '--reason',
    'its contract',
  );
  expect([given.status, given.stderr]).toEqual([0, '']);
  const { body: device } = await owner.register(till.url, till.apiKey);
  expect(device.state).toBe('online');
  expect(await sellAll(owner, device.id, 5)).toEqual(registered(5));

  const shown = await owner.ask('GET', `/v1/operator/unknown?limit=10`);
  expect([shown.status, shown.body.data]).toEqual([200, []]);
  expect((await owner.eventTypes()).filter((type) => type.includes('unknown'))).toEqual([]);
  expect((await documentsAtOfd(terminal)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
});

test('a register that becomes another merchant’s terminal later is stopped before anything is sent', async () => {
  const terminal = newTerminal();
  const [thief, owner] = [await shop(), await shop()];
  const till = await startTill(terminal, system.ofdUrl);
  const held = await owner.register(till.url, till.apiKey);
  expect(await sellAll(owner, held.body.id, 1)).toEqual(registered(1));
  const own = await startTill(newTerminal(), await noOfd());
  const { body: device } = await thief.register(own.url, own.apiKey);
  expect(await sellAll(thief, device.id, 1)).toEqual(registered(1));

  // The same address and key, another module behind it.
  const changed = await startTill(terminal, await noOfd(), { REGISTER_API_KEY: own.apiKey });
  await sql(system.database, "UPDATE devices SET base_url = $2, state = 'replaced' WHERE id = $1", [
    ...[device.id, changed.url],
  ]);
  const state = (): Promise<string> => thief.ask('GET', `/v1/devices/${device.id}`).then(({ body }) => body.state);
  expect((await thief.ask('POST', `/v1/operator/devices/${device.id}/adopt`, { reason: 'a new module' })).status).toBe(
    200,
  );
  const waiting = await postAsync(thief, thief.oneSale(device.id));
  await until('its lane has stopped', state, (now) => now === 'claimed_elsewhere');
  expect((await thief.ask('GET', `/v1/receipts/${waiting}`)).body.status).toBe('accepted');
  expect(await sellAll(owner, held.body.id, 1)).toEqual(registered(1, 1));
});

/** By these sums the tax office's documents say whose they are. */
const [IN_HAND, BEHIND, OF_BUYER] = [224_000, 336_000, 448_000];

test.each([
  ['has idempotency keys', {}],
  // Its request sleeps on the way, for longer than its merchant's relay waits and less than the settle time.
  ['has no extensions', { REGISTER_EXTENSIONS: '0' }],
])(
  'a module that moves while a receipt of the merchant before is on its way, and %s: nothing twice, nothing lost',
  async (_what, env) => {
    const terminal = newTerminal();
    const [seller, buyer] = [await shop(), await shop()];
    const till = await startTill(terminal, system.ofdUrl, env);
    const isKeyed = !('REGISTER_EXTENSIONS' in env);
    const profile = { settle_ms: 12_000, send_timeout_ms: 2_000, call_timeout_ms: 2_000 };
    const { body: before } = await seller.register(till.url, till.apiKey, profile);
    expect(await sellAll(seller, before.id, 2)).toEqual(registered(2));

    // The register has a receipt in hand, another one waits behind it.
    await till.call('POST', '/emulator/faults', { rules: [{ fault: 'late_request', next: 1, delay_ms: 8_000 }] });
    const [inHand, behind] = [
      await postAsync(seller, seller.oneSale(before.id, IN_HAND)),
      await postAsync(seller, seller.oneSale(before.id, BEHIND)),
    ];
    const statusOf = async (id: string): Promise<string> => (await seller.ask('GET', `/v1/receipts/${id}`)).body.status;
    const attempts = (): Promise<{ state: string }[]> =>
      sql(system.database, "SELECT state::text FROM attempts WHERE receipt_id = $1 AND state = 'open'", [inHand]);
    await until('its receipt is on its way', attempts, ({ length }) => length === 1);
    if (isKeyed) till.program.signal('SIGSTOP');

    const { merchantId } = buyer.merchant;
    const given = await cli('terminal', 'give', terminal, '--merchant', merchantId, '--reason', 'sold with the shop');
    expect([given.status, given.stderr]).toEqual([0, '']);
    expect(JSON.parse(given.stdout)).toMatchObject({
      terminal_id: terminal,
      merchant_id: merchantId,
      proof: 'operator',
    });
    expect((await seller.ask('GET', `/v1/devices/${before.id}`)).body.state).toBe('claimed_elsewhere');
    expect(await seller.eventTypes()).toContain('device.terminal_lost');

    if (isKeyed) till.program.signal('SIGCONT');
    const after = await until(
      'the register answers its new merchant',
      () => buyer.register(till.url, till.apiKey, profile),
      ({ status }) => status === 201,
    );
    expect(after.body.state).toBe('online');
    const sold = await buyer.sell(after.body.id, OF_BUYER);
    const last = await until(
      'the new merchant has sold',
      () => buyer.ask('GET', `/v1/receipts/${sold.body.id}`),
      ({ body }) => body.status === 'registered',
    );

    // What was in hand is registered once or not at all, and what its merchant reads is true.
    const decided = await until(
      'it has come to rest',
      () => statusOf(inHand),
      (status) => status !== 'sending',
    );
    const [{ sharing } = { sharing: '' }] = await sql<{ sharing: string }>(
      system.database,
      "SELECT profile ->> 'sharing' AS sharing FROM devices WHERE id = $1",
      [after.body.id],
    );
    const { currentReceiptSeq: registeredByNow } = await till.call('GET', '/fm/info');
    const documents = await until(
      'the OFD has everything',
      () => documentsAtOfd(terminal),
      (all) => all.length >= Number(registeredByNow),
    );
    expect(documents.map(({ seq }) => seq)).toEqual(documents.map((_, at) => at + 1));
    const numbersOf = (price: number): unknown[] =>
      documents.filter(({ cash }) => cash === price).map(({ seq }) => seq);
    // With keys, what was in hand may still arrive after the new merchant's sale.
    const lateOnes = numbersOf(IN_HAND);
    expect(numbersOf(OF_BUYER)).toEqual([last.body.fiscal?.receipt_seq]);
    expect(isKeyed ? [0, 1] : [1]).toContain(lateOnes.length);
    expect(documents).toHaveLength(3 + lateOnes.length);
    // Without keys the new merchant's lane waited until nothing of the old one could arrive: the register seems to be its own. With keys it
    // need not wait: a document of the old one that came between its reading and its sale is seen as what it is, another's.
    if (lateOnes.length === 0 || !isKeyed) expect(sharing).toBe('exclusive');
    const { body: read } = await seller.ask('GET', `/v1/receipts/${inHand}`);
    expect(['registered', 'unknown']).toContain(decided);
    if (decided === 'registered') expect(read.status).toBe('registered');
    if (read.status === 'registered') expect(lateOnes).toEqual([read.fiscal?.receipt_seq]);
    // What waited behind it never left for a module that is no longer the seller's.
    expect(numbersOf(BEHIND)).toEqual([]);
    expect(await statusOf(behind)).toBe('accepted');
  },
);

test('the command line says who holds a terminal, and wants a reason', async () => {
  const terminal = newTerminal();
  const { merchant } = await shop();
  expect((await cli('terminal', 'give', terminal, '--merchant', merchant.merchantId)).stderr).toContain('--reason');
  expect((await cli('terminal', 'give', "x'y", '--merchant', merchant.merchantId, '--reason', 'r')).stderr).toContain(
    'no terminal',
  );
  expect(JSON.parse((await cli('terminal', 'show', terminal)).stdout)).toMatchObject({
    merchant_id: null,
    devices: [],
  });
  expect((await cli('terminal', 'give', terminal, '--merchant', merchant.merchantId, '--reason', 'ours')).status).toBe(
    0,
  );
  expect(JSON.parse((await cli('terminal', 'show', terminal)).stdout)).toMatchObject({
    merchant_id: merchant.merchantId,
  });
});

async function postAsync(seller: Shop, body: unknown): Promise<string> {
  const answer = await seller.post('/v1/receipts', body, { prefer: 'respond-async' });
  expect(answer.status).toBe(202);
  return answer.body.id ?? '';
}
