// Promise: who steals a dump of the database, the queue or the logs finds no token, no secret and no key of a register in it.
import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { newAccessToken } from '../../apps/gateway/src/access/oauth/access-token.js';
import { newClientSecret } from '../../apps/gateway/src/access/oauth/client-secret.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { SecretsRig } from './secrets-rig.js';

const CALLS = 10_000;
const AT_ONCE = 8;
const BUSY_MS = 60_000;
const FORM = 'application/x-www-form-urlencoded';

let rig: SecretsRig;
let calls = 0;

beforeAll(async () => {
  rig = await SecretsRig.start();
});
afterAll(() => rig?.stop());

const keep = (what: string, value: unknown): string =>
  typeof value === 'string' && value !== '' ? rig.secrets.add(what, value) : '';
const made = (what: string): string => keep(what, `${what.replaceAll(' ', '-')}-${randomBytes(12).toString('hex')}`);

async function call(
  method: string,
  path: string,
  { headers = {}, body }: { headers?: Record<string, string>; body?: string | URLSearchParams } = {},
): Promise<Record<string, unknown>> {
  calls += 1;
  let response: Response;
  let text: string;
  // A busy database is answered with 503, which a client repeats.
  for (const deadline = Date.now() + BUSY_MS; ; await delay(500)) {
    response = await fetch(`${rig.base}${path}`, { method, headers, ...(body !== undefined && { body }) });
    text = await response.text();
    if (response.status !== 503 || Date.now() > deadline) break;
  }
  if (response.status >= 500) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  const type = response.headers.get('content-type') ?? '';
  return text !== '' && type.includes('json') ? (JSON.parse(text) as Record<string, unknown>) : {};
}

interface Player {
  token: string;
  ask: (method: string, path: string, body?: unknown) => Promise<Record<string, unknown>>;
}

function playerOf(token: string): Player {
  const authorization = `Bearer ${token}`;
  const ask: Player['ask'] = (method, path, body) => {
    const headers = { authorization, ...(body !== undefined && { 'content-type': 'application/json' }) };
    const more = { headers: { ...headers, prefer: 'respond-async' } };
    return call(method, path, body === undefined ? more : { ...more, body: JSON.stringify(body) });
  };
  return { token, ask };
}

const basicOf = (id: string, secret: string): string =>
  keep('Basic credentials', Buffer.from(`${id}:${secret}`).toString('base64'));

async function login(id: string, secret: string, way: 'basic' | 'post'): Promise<string> {
  const grant = { grant_type: 'client_credentials' };
  const answer = await (way === 'basic'
    ? call('POST', '/oauth/token', {
        headers: { authorization: `Basic ${basicOf(id, secret)}` },
        body: new URLSearchParams(grant),
      })
    : call('POST', '/oauth/token', {
        body: new URLSearchParams({ ...grant, client_id: id, client_secret: secret }),
      }));
  return keep('access token', answer['access_token']);
}

function sale(more: Record<string, unknown> = {}): Record<string, unknown> {
  const { goods, tills } = rig.merchant;
  const items = [{ name: goods[0], price: 112_000, qty: 1 }];
  return { items, payment: { method: 'cash' }, cashier_id: tills[0]?.cashierId, ...more };
}

/** Sales as they should be, and with what callers put into them by mistake. */
async function sell({ token, ask }: Player): Promise<void> {
  const receipt = await ask('POST', '/v1/receipts', sale({ external_id: randomBytes(8).toString('hex') }));
  await ask('GET', `/v1/receipts/${String(receipt['id'])}`);
  await ask('POST', '/v1/receipts', sale({ api_key: made('key in a sale'), access_token: token }));
  await ask('POST', '/v1/receipts/validate', sale({ cashier_id: token }));
  const authorization = `Bearer ${token}`;
  const broken = { authorization, 'content-type': 'application/json' };
  await call('POST', '/v1/receipts', { headers: broken, body: `{"broken": "${token}` });
  await call('GET', `/v1/receipts/x?access_token=${token}`, { headers: { authorization } });
  await call('GET', '/v1/receipts?limit=1', { headers: { authorization: `${authorization}, Bearer ${token}` } });
  await call('GET', `/v1/${token}`, { headers: { authorization } });
}

/** Logins, right and wrong; what is wrong here may be right at another system. */
async function enter({ token }: Player): Promise<void> {
  const { clientId, clientSecret } = rig.merchant;
  const wrong = keep('wrong secret', newClientSecret());
  await login(clientId, wrong, 'post');
  await login(clientId, wrong, 'basic');
  await login(wrong, clientSecret, 'post');
  const issued = await login(clientId, clientSecret, 'basic');
  const credentials = { client_id: clientId, client_secret: clientSecret };
  for (const path of ['/oauth/introspect', '/oauth/revoke']) {
    await call('POST', path, { body: new URLSearchParams({ ...credentials, token: issued }) });
  }
  const stranger = keep('token of no client', newAccessToken());
  for (const bearer of [stranger, `${token}x`, keep('rubbish', `rubbish-${wrong}`)]) {
    await call('GET', '/v1/receipts', { headers: { authorization: `Bearer ${bearer}` } });
  }
  await call('POST', '/oauth/token', {
    headers: { 'content-type': FORM },
    body: `client_assertion=${wrong}&x=${token}`,
  });
}

/** Everything that shows a secret once, or takes one. */
async function administer({ ask }: Player, round: number): Promise<void> {
  const client = await ask('POST', '/v1/clients', { name: `C ${round}`, scopes: ['receipts:read'], ip_policy: 'any' });
  const path = `/v1/clients/${String(client['id'])}`;
  keep('client secret', client['client_secret']);
  keep('client secret', (await ask('POST', `${path}/secret`, {}))['client_secret']);
  keep('signing secret', (await ask('POST', `${path}/keys`, { name: 'K', algorithm: 'hmac-sha256' }))['secret']);
  await ask('POST', `${path}/keys`, { name: 'K', public_key: `-----BEGIN PRIVATE KEY-----${made('private key')}` });
  const till = { branch_id: 'main', name: `Till ${round}`, transport: 'link', api_key: made('register key') };
  const device = await ask('POST', '/v1/devices', till);
  const { code } = await ask('POST', `/v1/devices/${String(device['id'])}/enrolments`, {});
  if (typeof code === 'string' && code.length >= 12) keep('enrolment code', code);
  await ask('PATCH', `/v1/devices/${String(device['id'])}`, { api_key: made('register key'), nonsense: made('slip') });
  const hook = await ask('POST', '/v1/webhooks', { url: `${rig.receiverUrl}/hook`, events: ['receipt.registered'] });
  keep('webhook secret', hook['secret']);
  if (typeof hook['id'] === 'string') {
    const rotated = await ask('POST', `/v1/webhooks/${hook['id']}/rotate-secret`, {});
    keep('webhook secret', rotated['secret']);
    if (round > 0) await ask('DELETE', `/v1/webhooks/${hook['id']}`);
  }
  await ask('PATCH', `/v1/provider-accounts/${account}`, { settings: { key: made('provider key') } });
  await ask('POST', '/v1/provider-accounts', { provider: 'payme', settings: { key: made('provider key'), x: 'y' } });
}

let account = '';

async function openAccount({ ask }: Player): Promise<void> {
  const settings = { cashbox_id: 'box', key: made('provider key'), api_url: `${rig.simulatorUrl}/payme/api` };
  const { id } = await ask('POST', '/v1/provider-accounts', { provider: 'payme', settings });
  account = String(id);
}

/** With a token for a customer's card: held, or refused by the provider. */
async function pay({ ask }: Player): Promise<void> {
  const payment = { method: 'online', provider: 'payme', token: made('instrument token') };
  const { id } = await ask('POST', '/v1/payments', sale({ payment }));
  await ask('GET', `/v1/payments/${String(id)}`);
  await ask('POST', '/v1/payments', sale({ payment: { ...payment, card: made('card in the wrong place') } }));
  await call('POST', `/v1/providers/payme/${account}`, {
    headers: { authorization: `Basic ${basicOf('Paycom', made('provider key'))}`, 'content-type': 'application/json' },
    body: JSON.stringify({ id: 1, method: 'CheckTransaction', params: { id: 'x' } }),
  });
}

test(`after ${CALLS} calls: nothing in database, Redis, logs and metrics`, async () => {
  const { clientId, clientSecret } = rig.merchant;
  const players: Player[] = [];
  for (let at = 0; at < 20; at += 1) {
    players.push(playerOf(await login(clientId, clientSecret, at % 2 === 0 ? 'basic' : 'post')));
  }
  const [first] = players;
  if (!first) throw new Error('no provider is played');
  await openAccount(first);
  const inRedis = new Set<string>();
  let round = 0;
  const worker = async (): Promise<void> => {
    while (calls < CALLS) {
      const player = players[round % players.length] ?? first;
      round += 1;
      const mine = round;
      await sell(player);
      await enter(player);
      if (mine % 4 === 0) await administer(player, mine / 4 - 1);
      if (mine % 4 === 2) await pay(player);
      // Jobs come and go: what stood there for a moment counts too.
      if (mine % 50 === 1) for (const what of rig.secrets.findIn(await rig.redisContent())) inRedis.add(what);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  await until(
    'a webhook was delivered',
    () => rig.delivered,
    (count) => count > 0,
  );
  const places = await rig.places();
  // Everything was at work and is searched (that the search finds what is there: secret-search.int-spec.ts).
  expect(places['database']).toContain(clientId);
  expect(places['logs']).toContain('request refused');
  expect(places['logs']).toContain('"name":"device-relay"');
  expect(places['metrics']).toContain('http_request_duration_seconds');
  if (rig.hasRedis) expect(places['redis']).toContain('fgw:limit:');
  expect(rig.secrets.size).toBeGreaterThan(CALLS / 10);
  const found = Object.entries(places).flatMap(([place, text]) =>
    rig.secrets.findIn(text).map((what) => `${what} in ${place}`),
  );
  expect([...inRedis].map((what) => `${what} in Redis, for a while`)).toEqual([]);
  expect(found).toEqual([]);
}, 1_800_000);
