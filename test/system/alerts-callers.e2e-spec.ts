// Promise: a system whose database, callers or partners do what they should not makes the alerts true that say so, and a healthy one none.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { startOwnServer, type OwnServer, type TestDatabase } from '#database/testing';
import { MailServer } from '../../libs/messages/src/testing/mail-server.js';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { ForeignSigner, outgoing } from '../../apps/gateway/src/access/signing/testing/foreign-signer.js';
import { Receiver } from '../../apps/gateway/src/notify/webhooks/testing/receiver.js';
import { startStandby, type Standby } from '../recovery/standby.js';
import { takeBaseBackup } from '../recovery/base-backup.js';
import { sql } from './database.js';
import { GatewayClient } from './gateway-client.js';
import { LiveAlerts, SEEN_IN } from './live-alerts.js';
import { startPayments, type PaymentsRig } from './payments-rig.js';
import { rawCall } from './raw-http.js';
import type { TestSystem } from './system.js';
import { until } from '../../libs/runtime/src/testing/until.js';

const SEEN = SEEN_IN['alerts-callers.e2e-spec.ts'];
const HOST = 'gateway.test';
/** So that no client asks too often but the one that shall. */
const CLIENT_LIMIT = '100/10';
const PAUSE_MS = 200;

let server: OwnServer;
let standby: Standby;
let folder: string;
let rig: PaymentsRig;
let system: TestSystem;
let receiver: Receiver;
let mail: MailServer;
let alerts: LiveAlerts | null;

/** A server of its own, as its oldest transaction is seen by all who use it, with a replica. */
async function startDatabase(): Promise<TestDatabase & { replicaUrl: string }> {
  server = await startOwnServer();
  const database = await server.migratedDatabase();
  folder = mkdtempSync(join(tmpdir(), 'fiscal-alerts-'));
  chmodSync(folder, 0o711);
  const clusterDir = join(folder, 'data');
  await takeBaseBackup(server, clusterDir);
  standby = await startStandby({ clusterDir, primaryUrl: server.adminUrl, log: join(folder, 'log') });
  const replicaUrl = Object.assign(new URL(database.url), { port: new URL(standby.adminUrl).port }).href;
  return { ...database, replicaUrl };
}

beforeAll(async () => {
  const { replicaUrl, ...database } = await startDatabase();
  mail = await MailServer.start();
  receiver = await Receiver.start();
  rig = await startPayments({
    ...{ simulatorPort: await freePorts(1), registers: 1, ownMetricsPorts: true },
    database,
    env: {
      ...{ FAILED_TOKEN_LIMIT: 'off', MESSAGE_ALLOWED_CIDRS: '127.0.0.0/8', PUBLIC_HOSTS: HOST },
      ...{ READ_DATABASE_URL: replicaUrl, API_POOL_SIZE: '2', CLIENT_LIMIT },
    },
    scopes: ['webhooks:admin', 'messages:write'],
  });
  system = rig.system;
  alerts = await LiveAlerts.start({
    ...{ 'fiscal-gateway': system.gatewayMetricsUrls, 'fiscal-device-relay': system.relayMetricsUrls },
  });
});

afterAll(async () => {
  await alerts?.stop();
  await rig?.stop();
  await receiver?.stop();
  await mail?.stop();
  await standby?.stop();
  await server?.remove();
  if (folder) rmSync(folder, { recursive: true, force: true });
});

/** So many calls at once; what they are answered is of no interest. */
async function atOnce(count: number, call: () => Promise<unknown>): Promise<void> {
  await Promise.allSettled(Array.from({ length: count }, call));
}

/** A client of a merchant of its own, with its token. */
async function anotherClient(scopes: readonly string[]): Promise<GatewayClient> {
  const client = new GatewayClient(system.gatewayUrls, await system.addMerchant({ scopes }));
  await client.authorization();
  return client;
}

test('a system on which all is well makes none of them true', async () => {
  await alerts?.allQuiet(SEEN);
});

/** Commits wait for a standby that does not exist: a synchronous one that is gone, or a disk that stands still. */
async function setCommits(hang: 'hang' | 'go on'): Promise<void> {
  const change = hang === 'hang' ? `SET synchronous_standby_names = 'none'` : 'RESET synchronous_standby_names';
  await sql(server, `ALTER SYSTEM ${change}`);
  await sql(server, 'SELECT pg_reload_conf()');
}

test('the database commits nothing', async () => {
  if (!alerts) return;
  const { client } = system;
  await client.authorization();
  const names = [
    'AcceptBudgetFast',
    'AcceptBudgetSteady',
    'AcceptBudgetSlow',
    'AcceptingStuck',
    'OutcomesUnclear',
    'ApiErrors',
  ];
  const calls = new Set<Promise<void>>();
  const readiness: string[] = [];
  const sell = async (): Promise<void> => {
    readiness.push(await (await fetch(`${system.gatewayUrls[0]}/readyz`)).text());
    const some = atOnce(3, () => client.post('/v1/receipts', client.saleOf(0), { prefer: 'respond-async' }));
    calls.add(some);
    void some.finally(() => calls.delete(some));
    if (calls.size > 10) await Promise.race(calls);
  };
  try {
    await alerts.become(names, () => setCommits('hang'), sell);
  } finally {
    await setCommits('go on');
  }
  await Promise.all(calls);
  expect(readiness.join()).toContain('"accepting":{"state":"down"');
  await until(
    'the gateway is ready again',
    () => fetch(`${system.gatewayUrls[0]}/readyz`).then(({ ok }) => ok),
    Boolean,
  );
});

/** A session of a person's, with a transaction that is open. */
async function begun(...statements: readonly string[]): Promise<pg.Client> {
  const person = new pg.Client({ connectionString: system.database.adminUrl });
  await person.connect();
  for (const statement of ['BEGIN', ...statements]) await person.query(statement);
  return person;
}

test('a person has locked a table that callers write', async () => {
  const client = await anotherClient(['webhooks:admin']);
  let isOver = false;
  // Reads wait for their turns before they wait for a connection; writes do not.
  const writing = async (): Promise<void> => {
    const hook = { url: `${receiver.url}/none`, events: ['shift.closed'] };
    while (!isOver) {
      await client.post('/v1/webhooks', hook).catch(() => null);
      await delay(PAUSE_MS);
    }
  };
  const made: { person?: pg.Client; writers?: Promise<void> } = {};
  try {
    await alerts?.become(['PoolWaits'], async () => {
      made.person = await begun('LOCK TABLE webhook_endpoints IN ACCESS EXCLUSIVE MODE');
      made.writers = atOnce(60, writing);
    });
  } finally {
    isOver = true;
    await made.person?.end();
    await made.writers;
  }
});

describe('partners fail', () => {
  beforeAll(async () => {
    const { client } = system;
    const hook = { url: `${receiver.url}/hook`, events: ['receipt.registered'] };
    expect((await client.post('/v1/webhooks', hook)).status).toBe(201);
    const settings = {
      ...{ host: '127.0.0.1', port: String(mail.port), security: 'none' },
      ...{ from_address: 'chek@shop.example', from_name: 'Shop' },
    };
    const account = { provider: 'smtp', settings, per_minute: 60_000 };
    expect((await client.post('/v1/message-accounts', account)).status).toBe(201);
  });

  const sellWithMessage = async (): Promise<void> => {
    const { client } = system;
    const buyer = { customer: { email: 'buyer@example.uz' }, notify: { channels: ['email'], language: 'uz' } };
    expect((await client.post('/v1/receipts', client.saleOf(0, buyer), { prefer: 'wait=30' })).status).toBe(201);
  };

  test('receivers answer 500, and the mail server is away', async () => {
    if (!alerts) return;
    await sellWithMessage();
    await until('both were reached before', () => mail.letters.length > 0 && receiver.received.length > 0, Boolean);
    const away = async (): Promise<void> => {
      receiver.answer = (_received, response) => void response.writeHead(500).end();
      await mail.stop();
    };
    await alerts.become(['WebhooksFailing', 'MessagesFailing'], away, sellWithMessage);
    receiver.answer = (_received, response) => void response.writeHead(204).end();
  });

  test('a provider has a payment handled by its people', async () => {
    const paid = await rig.pay({ provider: 'multicard', token: 'token-0001' });
    expect(paid).toMatchObject({ status: 'captured' });
    // As the status of a provider that says so leaves it.
    await alerts?.become(['PaymentsForPerson'], () =>
      sql(system.database, `UPDATE payments SET discrepancy = '{"provider": "manual"}' WHERE id = $1`, [paid?.id]),
    );
    await sql(system.database, 'UPDATE payments SET discrepancy = NULL WHERE id = $1', [paid?.id]);
  });

  test('a payment provider answers nothing', async () => {
    const pay = (): Promise<unknown> => rig.pay({ provider: 'multicard', token: 'token-0001' });
    await alerts?.become(['ProviderFailing'], () => rig.faults([{ fault: 'drop_before', rate: 1 }]), pay);
    await rig.faults([]);
  });

  test('calls in the name of a provider come with a wrong key', async () => {
    const headers = { 'content-type': 'application/json', authorization: `Basic ${btoa('Paycom:wrong')}` };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'CheckTransaction', params: { id: 'none' } });
    const call = async (): Promise<void> => {
      for (let calls = 0; calls < 5; calls += 1)
        await (await fetch(rig.paymeUrl, { method: 'POST', headers, body })).text();
    };
    await alerts?.become(['ProviderKeysRefused'], call, call);
  });
});

describe('callers do what they should not', () => {
  test('signatures: clocks that are minutes late, then such as are none', async () => {
    if (!alerts) return;
    const client = await anotherClient(['clients:admin', 'devices:admin']);
    const pair = ForeignSigner.create('not known yet', 'ed25519');
    const { clientId } = client.merchant;
    const key = await client.post(`/v1/clients/${clientId}/keys`, { name: 'erp', public_key: pair.publicPem });
    const signer = pair.named(key.body.id ?? '');
    const authorization = await client.authorization();
    const sign = async (created: Date, more: Record<string, string> = {}): Promise<number> => {
      const body = JSON.stringify({ code: `b${String(Math.random()).slice(2)}`, name: 'Branch' });
      const request = outgoing({ target: '/v1/branches', body, headers: { host: HOST, authorization } });
      const expires = new Date(created.getTime() + 300_000);
      const headers = { ...(await signer.sign(request, { params: { created, expires } })), ...more };
      const url = system.gatewayUrls[0] ?? '';
      return (await rawCall(url, { path: request.target, headers: Object.entries(headers).flat(), body })).status;
    };
    expect(await sign(new Date())).toBe(201);
    const late = async (): Promise<void> => {
      expect(await sign(new Date(Date.now() - 200_000))).toBe(201);
      await delay(PAUSE_MS);
    };
    await alerts.become(['ClocksApart'], late, late);
    const none = (): Promise<void> => atOnce(5, () => sign(new Date(), { Signature: 'sig1=:AAAA:' }));
    await alerts.become(['SignaturesRefused'], none, none);
  });

  test('tokens that are none', async () => {
    const headers = { authorization: 'Bearer fgt_none' };
    const call = async (): Promise<string> =>
      (await fetch(`${system.gatewayUrls[0]}/v1/receipts/rcp_x`, { headers })).text();
    const many = (): Promise<void> => atOnce(60, call);
    await alerts?.become(['TokensRefused'], many, many);
  });

  test('more than their rights', async () => {
    const client = await anotherClient(['receipts:read']);
    const many = (): Promise<void> => atOnce(20, () => client.post('/v1/receipts', { items: [] }));
    await alerts?.become(['RightsRefused'], many, many);
  });

  test('too often', async () => {
    const client = await anotherClient(['receipts:read']);
    const many = (): Promise<void> => atOnce(50, () => client.get('/v1/receipts'));
    await alerts?.become(['CallersLimited'], many, many);
  });
});

test('a transaction is left open that may have written an event', async () => {
  const made: { person?: pg.Client } = {};
  try {
    await alerts?.become(['OldTransaction', 'EventsHeldUp'], async () => {
      made.person = await begun('LOCK TABLE events IN ROW EXCLUSIVE MODE', 'SELECT pg_current_xact_id()');
    });
  } finally {
    await made.person?.end();
  }
});

test('the replica is away', async () => {
  await alerts?.become(['ReplicaNotRead'], () => standby.stop());
});

test('each alert of this file’s list was seen', () => {
  if (alerts) expect([...alerts.seen].sort()).toEqual([...SEEN].sort());
});
