import { LINK_PROTOCOL } from '#link';
import { Receiver } from '../../apps/gateway/src/notify/webhooks/testing/receiver.js';
import { ACCOUNT, SimulatedProvider } from '../../libs/messages/src/testing/simulated-provider.js';
import { RawRegister } from '../../test/links/raw-register.js';
import type { GatewayClient } from '../../test/system/gateway-client.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import type { Flood, FloodRequest } from './flood.js';
import { FLOODER_ADDRESS, JSON_TYPE, OTHER_ADDRESS, type Parties } from './parties.js';

export interface FloodRow {
  /** As docs/security.md names the resource. */
  name: string;
  flood: Flood;
  /** One call of the other merchant, to its end. */
  call: () => Promise<void>;
  end?: () => Promise<unknown>;
}

type Row = FloodRow | Promise<FloodRow>;

const ASIDE = { prefer: 'respond-async' };
const CSV = 'sku,spic,name_ru,package_code,vat_percent\nbread-1,01905001001000001,Хлеб,1500001,12\n';
const SMS = { customer: { phone: '+998901234567' }, notify: { channels: ['sms'] } };

/** Of the table in docs/security.md those that one party can fill from outside: it alone against another one. */
export function rowsOf(parties: Parties): Promise<FloodRow[]> {
  return Promise.all([
    ...entryRows(parties),
    ...readingRows(parties),
    ...registerRows(parties),
    ...sendingRows(parties),
  ]);
}

/** What is bounded before a caller is known, or by who it is. */
function entryRows(parties: Parties): Row[] {
  const { other, flooder } = parties;
  const login = (address: string, name = 'absent'): FloodRequest => ({
    ...{ url: parties.url('/auth/login'), method: 'POST' },
    body: JSON.stringify({ email: `${name}@shop.example`, password: 'wrong-password-of-some-length', code: '000000' }),
    headers: { ...JSON_TYPE, origin: parties.consoleOrigin, 'fgw-console': '1', 'x-forwarded-for': address },
  });
  const badToken: FloodRequest = {
    ...{ url: parties.url('/oauth/token'), method: 'POST', body: 'grant_type=client_credentials' },
    headers: {
      ...{ authorization: `Basic ${btoa('cli_absent:wrong')}`, 'content-type': 'application/x-www-form-urlencoded' },
      ...FLOODER_ADDRESS,
    },
  };
  return [
    { name: 'Requests', flood: calls(16, parties.get(flooder, '/v1/receipts')), call: sale(parties) },
    {
      name: 'Failed logins and tokens',
      flood: calls(16, badToken),
      call: async () => void (await other.fetchToken()),
    },
    {
      name: 'Passwords that are hashed',
      flood: calls(16, login(FLOODER_ADDRESS['x-forwarded-for'])),
      // Of an address and a name that have not failed before: what is measured is the turn, not the limit of failures.
      call: () => answered(login(`2001:db8:${hex()}:${hex()}::1`, hex()), 401),
    },
  ];
}

function readingRows(parties: Parties): Row[] {
  const { other, flooder } = parties;
  const both = (name: string, path: string): Row => ({
    ...{ name, flood: calls(16, parties.get(flooder, path)) },
    call: () => answered(parties.get(other, path), 200),
  });
  const unread = (connections: number, path: string): Flood => ({
    ...{ kind: 'unread answers', connections, requests: [parties.get(flooder, path)] },
  });
  const upload = (client: GatewayClient): FloodRequest => ({
    ...parties.post(client, '/v1/catalog/imports?mode=upsert', null, { 'content-type': 'text/csv' }),
    body: CSV,
  });
  const document = ({ id }: { id: string }): string => `/v1/receipts/${id}/document?format=pdf`;
  return [
    {
      name: 'Uploaded files and their readers',
      flood: { kind: 'endless uploads', connections: 16, requests: [upload(flooder)] },
      call: () => importFile(upload(other), other),
    },
    {
      name: 'Threads that draw receipts',
      flood: calls(16, parties.get(flooder, document(parties.soldByFlooder))),
      call: () => answered(parties.get(other, document(parties.soldByOther)), 200),
    },
    {
      name: 'Streams of events',
      flood: unread(300, '/v1/events/stream'),
      call: () => answered(parties.get(other, '/v1/events?limit=10'), 200),
    },
    both('Sums of reports', '/v1/reports/turnover?by=day'),
    {
      name: 'Exports of receipts',
      flood: unread(16, '/v1/receipts/export?format=csv'),
      call: () => answered(parties.get(other, '/v1/receipts/export?format=csv'), 200),
    },
  ];
}

/** The flooder's registers take calls and never answer. */
function registerRows(parties: Parties): Row[] {
  const { other, silent } = parties;
  const { tills } = silent.merchant;
  const check = (client: GatewayClient, deviceId = ''): FloodRequest =>
    parties.post(client, `/v1/devices/${deviceId}/check`, {});
  const link = (client: GatewayClient): string => parties.linkUrl(client.merchant.tills[0]?.deviceId ?? '');
  return [
    {
      name: 'Unfinished handshakes of links',
      flood: { kind: 'idle handshakes', connections: 200, url: link(silent), headers: FLOODER_ADDRESS },
      call: () => dial(link(other)),
    },
    {
      name: 'Tasks of a relay',
      flood: calls(40, ...tills.map(({ deviceId }) => check(silent, deviceId))),
      call: () => answered(check(other, other.merchant.tills[0]?.deviceId), 200),
    },
    {
      name: 'Lanes at work, and those of silent registers',
      flood: calls(16, ...tills.map((_, till) => parties.post(silent, '/v1/receipts', silent.saleOf(till), ASIDE))),
      call: sale(parties),
    },
  ];
}

function sendingRows(parties: Parties): Row[] {
  return [webhookRow(parties), messageRow(parties)];
}

/** The flooder's receiver never answers. */
async function webhookRow(parties: Parties): Promise<FloodRow> {
  const { other, flooder } = parties;
  const receiver = await Receiver.start();
  const own = await other.post('/v1/webhooks', { url: `${receiver.url}/hook`, events: ['webhook.test'] });
  const dead = await flooder.post('/v1/webhooks', { url: `${parties.silentUrl}/hook`, events: ['*'] });
  if (own.status !== 201 || dead.status !== 201) throw new Error(JSON.stringify([own.body, dead.body]));
  const test = parties.post(other, `/v1/webhooks/${own.body.id ?? ''}/test`, {});
  return {
    name: 'Deliveries to webhooks',
    flood: calls(4, parties.post(flooder, '/v1/receipts', flooder.saleOf(0))),
    call: async () => {
      const before = receiver.received.length;
      await answered(test, 202);
      await until(
        'it is delivered',
        () => receiver.received.length,
        (count) => count > before,
      );
    },
    end: () => receiver.stop(),
  };
}

/** The flooder's provider never answers. */
async function messageRow(parties: Parties): Promise<FloodRow> {
  const { other, flooder } = parties;
  const provider = await SimulatedProvider.start('playmobile');
  const { login, password, from } = ACCOUNT;
  for (const [client, apiUrl] of [[other, provider.url] as const, [flooder, parties.silentUrl] as const]) {
    const settings = { api_url: apiUrl, login, password, originator: from };
    const account = { provider: 'playmobile', settings, per_minute: 60_000 };
    const { status, body } = await client.post('/v1/message-accounts', account);
    if (status !== 201) throw new Error(JSON.stringify(body));
  }
  const sold = parties.post(other, '/v1/receipts', { ...other.saleOf(0), ...SMS }, { prefer: 'wait=60' });
  return {
    name: 'Messages to buyers',
    flood: calls(4, parties.post(flooder, '/v1/receipts', { ...flooder.saleOf(0), ...SMS }, ASIDE)),
    call: async () => {
      const before = provider.taken.length;
      await answered(sold, 201);
      await until(
        'the buyer has it',
        () => provider.taken.length,
        (count) => count > before,
      );
    },
    end: () => provider.stop(),
  };
}

function hex(): string {
  return Math.floor(Math.random() * 0xffff).toString(16);
}

function calls(connections: number, ...requests: FloodRequest[]): Flood {
  return { kind: 'calls', connections, requests };
}

function sale(parties: Parties): () => Promise<void> {
  const { other } = parties;
  return () => answered(parties.post(other, '/v1/receipts', other.saleOf(0), { prefer: 'wait=60' }), 201);
}

async function answered(request: FloodRequest, wanted: number): Promise<void> {
  await textOf(request, wanted);
}

async function textOf({ url, method, headers, body }: FloodRequest, ...wanted: number[]): Promise<string> {
  const response = await fetch(url, { method, headers, ...(body !== undefined && { body }) });
  const text = await response.text();
  if (!wanted.includes(response.status))
    throw new Error(`${method} ${url}: ${String(response.status)} ${text.slice(0, 300)}`);
  return text;
}

async function importFile(request: FloodRequest, client: GatewayClient): Promise<void> {
  const { id } = JSON.parse(await textOf(request, 200, 202)) as { id: string };
  const state = await until(
    'the import is over',
    async () => ((await client.get(`/v1/catalog/imports/${id}`)).body as { state?: string }).state,
    (now) => now !== 'running',
  );
  if (state !== 'done') throw new Error(`the import is ${String(state)}`);
}

/** Until the relay has begun the handshake: the challenge is its first frame. */
async function dial(url: string): Promise<void> {
  const register = new RawRegister(url, LINK_PROTOCOL, OTHER_ADDRESS);
  const challenge = await register.next();
  register.end();
  if (challenge === null) throw new Error(`no handshake: ${register.failed ?? JSON.stringify(register.closed)}`);
}
