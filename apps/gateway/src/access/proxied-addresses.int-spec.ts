// Promise: a caller is judged by the address that it really has; what it writes into headers opens no list.
import 'reflect-metadata';
import { networkInterfaces } from 'node:os';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import { parseCidr, type Cidr } from '#outgoing';
import { OauthGateway } from './oauth/testing/oauth-gateway.js';

const PROXY = '127.0.0.2';
const DIRECT = '127.0.0.1';
const LOOPBACK_V6 = '::1';
const CALLER = '198.51.100.7';
const CLAIMED = '203.0.113.9';

interface Row {
  what: string;
  /** TRUSTED_PROXIES. */
  trusted: string[];
  from: string;
  headers: [name: string, value: string][];
  /** The address that counts; null: refused whatever the list. */
  seen: string | null;
  /** Must not count. */
  never?: string;
  listen?: string;
}

const xff = (...values: string[]): [string, string][] => values.map((value) => ['X-Forwarded-For', value]);
const one = [`${PROXY}/32`];
const two = [`${PROXY}/32`, '10.0.0.0/8'];

const ROWS: Row[] = [
  { what: 'no proxy, no header', trusted: [], from: DIRECT, headers: [], seen: DIRECT },
  { what: 'no proxy, a header', trusted: [], from: DIRECT, headers: xff(CALLER), seen: DIRECT, never: CALLER },
  {
    what: 'no proxy, two headers',
    trusted: [],
    from: DIRECT,
    headers: xff(CALLER, CLAIMED),
    seen: DIRECT,
    never: CLAIMED,
  },
  { what: 'no proxy, rubbish', trusted: [], from: DIRECT, headers: xff('evil" onload'), seen: DIRECT },
  ...['X-Real-IP', 'X-Client-IP', 'True-Client-IP', 'CF-Connecting-IP'].map((name): Row => ({
    ...{ what: name, trusted: [], from: DIRECT, headers: [[name, CALLER]], seen: DIRECT, never: CALLER },
  })),
  {
    what: 'Forwarded',
    trusted: [],
    from: DIRECT,
    headers: [['Forwarded', `for=${CALLER}`]],
    seen: DIRECT,
    never: CALLER,
  },
  { what: 'the proxy itself', trusted: one, from: PROXY, headers: [], seen: PROXY },
  { what: 'behind the proxy', trusted: one, from: PROXY, headers: xff(CALLER), seen: CALLER, never: PROXY },
  { what: 'past the proxy', trusted: one, from: DIRECT, headers: xff(CALLER), seen: DIRECT, never: CALLER },
  {
    what: 'a claim before the truth',
    trusted: one,
    from: PROXY,
    headers: xff(`${CLAIMED}, ${CALLER}`),
    seen: CALLER,
    never: CLAIMED,
  },
  {
    what: 'a claim in its own line',
    trusted: one,
    from: PROXY,
    headers: xff(CLAIMED, CALLER),
    seen: CALLER,
    never: CLAIMED,
  },
  {
    what: 'the proxy’s own name claimed',
    trusted: one,
    from: PROXY,
    headers: xff(`${PROXY}, ${CALLER}`),
    seen: CALLER,
    never: PROXY,
  },
  {
    what: 'loopback claimed',
    trusted: one,
    from: PROXY,
    headers: xff(`${DIRECT}, ${CALLER}`),
    seen: CALLER,
    never: DIRECT,
  },
  { what: 'rubbish from the proxy', trusted: one, from: PROXY, headers: xff('evil" onload'), seen: null },
  {
    what: 'a port behind the address',
    trusted: one,
    from: PROXY,
    headers: xff(`${CALLER}:443`),
    seen: null,
    never: CALLER,
  },
  {
    what: 'an unknown address',
    trusted: one,
    from: PROXY,
    headers: xff(`${CALLER}, unknown`),
    seen: null,
    never: CALLER,
  },
  {
    what: 'other headers of the proxy',
    trusted: one,
    from: PROXY,
    headers: [['X-Real-IP', CALLER]],
    seen: PROXY,
    never: CALLER,
  },
  { what: 'IPv6', trusted: one, from: PROXY, headers: xff('2001:db8::7'), seen: '2001:db8::7', never: '2001:db8::8' },
  { what: 'IPv4 in IPv6', trusted: one, from: PROXY, headers: xff(`::ffff:${CALLER}`), seen: CALLER, never: CLAIMED },
  {
    what: 'two proxies',
    trusted: two,
    from: PROXY,
    headers: xff(`${CALLER}, 10.1.2.3`),
    seen: CALLER,
    never: '10.1.2.3',
  },
  {
    what: 'two proxies and a claim',
    trusted: two,
    from: PROXY,
    headers: xff(`${CLAIMED}, ${CALLER}, 10.1.2.3`),
    seen: CALLER,
    never: CLAIMED,
  },
  { what: 'an IPv4 peer on an IPv6 socket', trusted: [], from: DIRECT, headers: [], seen: DIRECT, listen: '::' },
  {
    what: 'a proxy on an IPv6 socket',
    trusted: one,
    from: PROXY,
    headers: xff(CALLER),
    seen: CALLER,
    never: PROXY,
    listen: '::',
  },
  { what: 'an IPv6 peer', trusted: [], from: LOOPBACK_V6, headers: [], seen: LOOPBACK_V6, never: DIRECT, listen: '::' },
  {
    what: 'an IPv6 peer with a header',
    trusted: one,
    from: LOOPBACK_V6,
    headers: xff(CALLER),
    seen: LOOPBACK_V6,
    never: CALLER,
    listen: '::',
  },
  {
    what: 'an IPv6 proxy',
    trusted: [`${LOOPBACK_V6}/128`],
    from: LOOPBACK_V6,
    headers: xff(`${CLAIMED}, 2001:db8::7`),
    seen: '2001:db8::7',
    never: CLAIMED,
    listen: '::1',
  },
];

/** Sockets between two IPv6 addresses cannot be had on a machine without any. */
const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === LOOPBACK_V6));
const POSSIBLE = ROWS.filter(({ from }) => hasIpv6 || from !== LOOPBACK_V6);
const IMPOSSIBLE = ROWS.filter((row) => !POSSIBLE.includes(row));

let database: TestDatabase;
const gateways = new Map<string, OauthGateway>();

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(async () => {
  for (const gateway of gateways.values()) await gateway.stop();
  await database.drop();
});

async function gatewayOf({ trusted, listen = '127.0.0.1' }: Row): Promise<OauthGateway> {
  const key = JSON.stringify([trusted, listen]);
  const known = gateways.get(key);
  if (known) return known;
  const gateway = await OauthGateway.start(database, { host: listen, trusted: trusted.map(cidr) });
  gateways.set(key, gateway);
  return gateway;
}

function cidr(text: string): Cidr {
  const parse = parseCidr(text);
  if (parse.kind === 'invalid') throw new Error(parse.reason);
  return parse.cidr;
}

if (IMPOSSIBLE.length > 0) test.skip.each(IMPOSSIBLE)('$what: this machine has no IPv6', () => undefined);

test.each(POSSIBLE)('$what', async (row) => {
  const gateway = await gatewayOf(row);
  const merchantId = await gateway.createMerchant();
  const ask = async (list: string[] | null): Promise<[number, unknown]> => {
    const { token } = await gateway.createClient(merchantId, { allowedCidrs: list });
    const { status, body } = await gateway.mine(token, { from: row.from, headers: row.headers.flat() });
    return [status, body['code']];
  };
  const refused = [403, 'ip_not_allowed'];
  expect(await ask([])).toEqual(refused);
  expect(await ask(null)).toEqual(row.seen === null ? refused : [200, undefined]);
  if (row.seen !== null) expect(await ask([row.seen])).toEqual([200, undefined]);
  if (row.never !== undefined) expect(await ask([row.never])).toEqual(refused);
});

test('there are as many rows as were asked for', () => {
  expect(ROWS.length).toBeGreaterThanOrEqual(24);
});
