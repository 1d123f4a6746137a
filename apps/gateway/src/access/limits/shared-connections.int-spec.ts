// Promise: however many changes one merchant has open, another one's calls are answered, and its own end in time or are refused.
import 'reflect-metadata';
import pg from 'pg';
import { newOpaqueSecret } from '../oauth/base62.js';
import { OperatorFixture } from '../../operator/testing/operator-fixture.js';
import { until } from '../../../../../libs/runtime/src/testing/until.js';

const [CONNECTIONS, OF_ONE, OF_ADDRESS] = [6, 3, 2];
const CONSOLE_ORIGIN = 'http://localhost';
let gateway: OperatorFixture;
let flooder: string;
let other: string;
/** Holds what every change of the flooder waits for. */
let holder: pg.Client;
let watcher: pg.Client;
let flooded: string;

beforeAll(async () => {
  gateway = await OperatorFixture.start({ API_POOL_SIZE: CONNECTIONS, PUBLIC_URL: CONSOLE_ORIGIN });
  flooded = await gateway.createMerchant();
  flooder = await gateway.createToken(flooded, ['devices:admin']);
  other = await gateway.createToken(await gateway.createMerchant(), ['devices:admin']);
  holder = new pg.Client({ connectionString: gateway.database.adminUrl });
  watcher = new pg.Client({ connectionString: gateway.database.adminUrl });
  await Promise.all([holder.connect(), watcher.connect()]);
});
afterAll(async () => {
  await holder?.end();
  await watcher?.end();
  await gateway?.stop();
});

async function read(token: string): Promise<number> {
  const response = await fetch(`${gateway.base}/v1/branches`, { headers: { authorization: `Bearer ${token}` } });
  await response.arrayBuffer();
  return response.status;
}

async function add(token: string, code: string): Promise<number> {
  const response = await fetch(`${gateway.base}/v1/branches`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ code, name: code }),
  });
  await response.arrayBuffer();
  return response.status;
}

function hanging(lock: 'advisory' | 'relation'): () => Promise<number> {
  return async () => {
    const { rows } = await watcher.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'gateway-api' AND wait_event_type = 'Lock' AND wait_event = $1`,
      [lock],
    );
    return rows[0]?.n ?? 0;
  };
}

test('one merchant floods with changes that hang on its trail: half the connections are theirs, the other merchant reads and changes', async () => {
  await holder.query('BEGIN');
  await holder.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [0x4155, flooded]);
  const flood = Array.from({ length: 60 }, (_, index) => add(flooder, `flood-${index}`));
  await until('its share hangs', hanging('advisory'), (count) => count >= OF_ONE);
  expect([await read(other), await add(other, 'calm'), await read(other)]).toEqual([200, 201, 200]);
  expect(await hanging('advisory')()).toBeLessThanOrEqual(OF_ONE);
  await holder.query('ROLLBACK');
  const answers = await Promise.all(flood);
  expect([201, 429, 503]).toEqual(expect.arrayContaining([...new Set(answers)]));
  expect(await add(flooder, 'after-the-flood')).toBe(201);
});

test('a burst of changes of one merchant is carried out, as long as the pool waits for a connection', async () => {
  const answers = await Promise.all(Array.from({ length: 150 }, (_, index) => add(other, `burst-${index}`)));
  expect(new Set(answers)).toEqual(new Set([201]));
});

test('pages that anyone may open take an address’s part of their share, and none of a merchant’s', async () => {
  await holder.query('BEGIN; LOCK TABLE invitations IN ACCESS EXCLUSIVE MODE');
  const token = newOpaqueSecret('fgw_in_');
  const open = async (): Promise<number> => {
    const response = await fetch(`${gateway.base}/auth/invitation`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: CONSOLE_ORIGIN, 'fgw-console': '1' },
      body: JSON.stringify({ token }),
    });
    await response.arrayBuffer();
    return response.status;
  };
  const flood = Array.from({ length: 40 }, open);
  await until('its share hangs', hanging('relation'), (count) => count >= OF_ADDRESS);
  expect([await read(other), await read(other)]).toEqual([200, 200]);
  expect(await hanging('relation')()).toBeLessThanOrEqual(OF_ADDRESS);
  await holder.query('ROLLBACK');
  expect([404, 429, 503]).toEqual(expect.arrayContaining([...new Set(await Promise.all(flood))]));
});
