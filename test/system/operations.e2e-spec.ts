// Promise: an operator of the programs sees their state, reads no secret in their logs, and can stop them in time.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { startOwnServer, type OwnServer } from '../../libs/database/src/testing/index.js';
import { sale } from './bad-bodies.js';
import { sql } from './database.js';
import { setFaults } from './ground-truth.js';
import type { Program } from './program.js';
import { expectProblem } from './problem-document.js';
import { rawCall } from './raw-http.js';
import { startSystem, type TestSystem } from './system.js';
import { until } from '../../libs/runtime/src/testing/until.js';
const ROOT = join(import.meta.dirname, '..', '..');
const STOP_WITHIN_MS = 10_000;

let server: OwnServer;
let system: TestSystem;
let urls: string[];

beforeAll(async () => {
  server = await startOwnServer();
  system = await startSystem({
    database: { ...(await server.migratedDatabase()), drop: () => server.remove() },
    // Everything that is ever logged, so that a secret has every chance to show.
    env: { LOG_LEVEL: 'trace' },
    profile: { sendTimeoutMs: 60_000 },
  });
  urls = [...system.gatewayUrls, ...system.relayUrls];
});

afterAll(() => system?.stop());

interface Readiness {
  status: string;
  checks: Record<string, { state: string; took_ms: number }>;
}

async function readiness(url: string): Promise<{ http: number } & Readiness> {
  const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(10_000) });
  return { http: response.status, ...((await response.json()) as Readiness) };
}

test('/healthz and /readyz of gateway and relay', async () => {
  for (const url of urls) {
    const alive = await fetch(`${url}/healthz`);
    expect([alive.status, await alive.json()]).toEqual([200, { status: 'ok' }]);
    // The queue is optional: a program is ready before it has heard from Redis for the first time.
    const ready = await until(
      'ready with all its parts',
      () => readiness(url),
      ({ checks }) => Object.values(checks).every(({ state }) => state === 'up'),
    );
    expect([ready.http, ready.status]).toEqual([200, 'ready']);
  }
  const [gateway, relay] = await Promise.all(urls.map(readiness));
  expect(Object.keys(gateway?.checks ?? {}).sort()).toEqual(['accepting', 'database', 'notices', 'queue', 'writes']);
  expect(Object.keys(relay?.checks ?? {}).sort()).toEqual(['database', 'lane_locks', 'queue']);
});

test('/metrics of gateway and relay: requests by route, never by id', async () => {
  const { client } = system;
  const { body } = await client.post('/v1/receipts', client.saleOf(0));
  await client.get(`/v1/receipts/${body.id}`);
  for (const url of urls) {
    const response = await fetch(`${url}/metrics`);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    const text = await response.text();
    expect(text).toMatch(/^process_resident_memory_bytes\{.*program=".+"\} \d+/m);
    expect(text).not.toContain(body.id);
  }
  const gateway = await (await fetch(`${urls[0]}/metrics`)).text();
  expect(gateway).toMatch(/http_request_duration_seconds_count\{.*route="\/v1\/receipts\/:id".*\} [1-9]/);
  const relay = await (await fetch(`${urls[1]}/metrics`)).text();
  expect(relay).toMatch(/^relay_free_places\{.*\} \d+$/m);
  expect(relay).toMatch(/^lanes_unknown_receipts\{.*\} 0$/m);
});

test('the request id is the caller’s when it is sane, is sent back and logged', async () => {
  const id = 'order-4711:retry.2';
  const base = urls[0] ?? '';
  const kept = await rawCall(base, { headers: ['x-request-id', id, 'content-type', 'application/json'], body: '{}' });
  expectProblem(kept, { status: 401, code: 'unauthenticated' });
  expect(kept.headers['x-request-id']).toBe(id);
  await until('it is logged', () => system.gateways[0]?.said.includes(id), Boolean);
  for (const odd of ['short', 'x'.repeat(200), 'has space inside', '"><script>']) {
    const made = await rawCall(base, { method: 'GET', path: '/v1/nothing', headers: ['x-request-id', odd] });
    expect(made.headers['x-request-id']).toMatch(/^req_[0-9a-z]{26}$/);
  }
});

test('the database goes away: not ready, alive, 503 to callers; it comes back: ready, and the same key is accepted', async () => {
  const { client } = system;
  await client.authorization();
  await server.kill();
  for (const url of urls) {
    const away = await until(
      'not ready',
      () => readiness(url),
      ({ http }) => http === 503,
    );
    expect(away).toMatchObject({
      status: 'not_ready',
      checks: { database: { state: expect.stringMatching(/^(down|timeout)$/) } },
    });
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  }
  const authorization = await client.authorization();
  const headers = ['authorization', authorization, 'content-type', 'application/json', 'idempotency-key', 'outage'];
  const refused = await rawCall(urls[0] ?? '', { headers, body: JSON.stringify(sale()) });
  expectProblem(refused, { status: 503, code: 'database_unavailable', faults: [] });
  await server.restart();
  for (const url of urls)
    await until(
      'ready again',
      () => readiness(url),
      ({ http }) => http === 200,
    );
  const accepted = await until(
    'the sale is registered',
    () => client.post('/v1/receipts', client.saleOf(0), { 'idempotency-key': 'outage' }),
    ({ status }) => status === 201,
  );
  expect(accepted.body.status).toBe('registered');
});

test('no secret shows in any log', async () => {
  const { client, merchant, register, gateways, relays, database, registerApiKey, secretsKey } = system;
  const token = (await client.authorization()).slice('Bearer '.length);
  const base = urls[0] ?? '';
  const json = ['content-type', 'application/json'];
  // Whatever might make a program quote what it was sent.
  await rawCall(base, { path: `/v1/receipts?access_token=${token}`, headers: json, body: JSON.stringify(sale()) });
  await rawCall(base, { headers: ['authorization', `Bearer ${token}`, ...json], body: `{"token":"${token}"` });
  await rawCall(base, { headers: ['authorization', `Bearer ${token}x`, 'authorization', token], body: '{}' });
  const form = `grant_type=x&client_id=${merchant.clientId}&client_secret=${merchant.clientSecret}`;
  await rawCall(base, {
    path: '/oauth/token',
    headers: ['content-type', 'application/x-www-form-urlencoded'],
    body: form,
  });
  await rawCall(base, {
    path: '/oauth/token',
    headers: json,
    body: JSON.stringify({ client_secret: merchant.clientSecret }),
  });
  await setFaults(system, [{ fault: 'error_after', next: 1 }]);
  expect((await client.post('/v1/receipts', client.saleOf(0))).status).toBe(201);
  await register.end('SIGKILL');
  await client.post('/v1/receipts', client.saleOf(0), { prefer: 'wait=1' });
  await register.start();
  const secrets = {
    ...{ token, clientSecret: merchant.clientSecret, registerApiKey, secretsKey },
    databasePassword: new URL(database.url).password,
  };
  for (const program of [...gateways, ...relays, register]) {
    expect(program.said.length).toBeGreaterThan(0);
    for (const [name, secret] of Object.entries(secrets)) {
      expect(secret.length).toBeGreaterThan(8);
      const at = program.said.indexOf(secret);
      const shown = at < 0 ? null : program.said.slice(Math.max(0, at - 200), at + 20);
      expect({ program: program.name, name, shown }).toEqual({ program: program.name, name, shown: null });
    }
  }
});

describe('starting', () => {
  const GOOD = { DATABASE_URL: 'postgres://fiscal_app:secret-pw@127.0.0.1:1/x', SECRETS_KEY: 'A'.repeat(43) + '=' };
  const PROGRAMS = { gateway: 'gateway/src/main.js', relay: 'device-relay/src/main.js' } as const;

  async function startBadly(
    program: keyof typeof PROGRAMS,
    env: Record<string, string>,
  ): Promise<{ code: number | null; said: string }> {
    const child = spawn(process.execPath, [join(ROOT, 'dist', 'apps', PROGRAMS[program])], {
      cwd: ROOT,
      env: { PATH: process.env['PATH'] ?? '', NODE_ENV: 'production', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    const hear = (chunk: Buffer): void => void (said += chunk.toString());
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    const hard = setTimeout(() => child.kill('SIGKILL'), 240_000);
    const [code] = (await once(child, 'exit')) as [number | null];
    clearTimeout(hard);
    return { code, said: said.trim() };
  }

  /** One line for a person, no stack. */
  function expectOneSentence({ code, said }: { code: number | null; said: string }, about: RegExp): void {
    expect({ code, said }).toMatchObject({ code: 1, said: expect.stringMatching(about) });
    expect(said.split('\n')).toHaveLength(1);
    expect(said).not.toMatch(/\bat .*\(.*:\d+:\d+\)/);
  }

  test.each<[keyof typeof PROGRAMS, Record<string, string>, RegExp]>([
    ['gateway', {}, /DATABASE_URL.*SECRETS_KEY/],
    ['gateway', { ...GOOD, GATEWAY_PORT: '80a' }, /GATEWAY_PORT/],
    ['gateway', { ...GOOD, GATEWAY_PORT: '70000' }, /GATEWAY_PORT/],
    ['gateway', { ...GOOD, TRUSTED_PROXIES: '10.0.0.0/33' }, /TRUSTED_PROXIES/],
    ['gateway', { ...GOOD, QUEUE_URL: 'http://127.0.0.1' }, /QUEUE_URL/],
    ['gateway', { ...GOOD, LOG_LEVEL: 'loud' }, /LOG_LEVEL/],
    ['gateway', { ...GOOD, SECRETS_KEY: 'hunter2hunter2' }, /SECRETS_KEY/],
    ['relay', { ...GOOD, DEVICE_ALLOWED_CIDRS: 'everywhere' }, /DEVICE_ALLOWED_CIDRS/],
    ['relay', { ...GOOD, DATABASE_URL: 'mysql://root:secret-pw@127.0.0.1/x' }, /DATABASE_URL/],
  ])('%s with %j: one sentence names the setting, and no value of a secret', async (program, env, about) => {
    const ended = await startBadly(program, env);
    expectOneSentence(ended, about);
    expect(ended.said).not.toContain('secret-pw');
    expect(ended.said).not.toContain('hunter2');
  });

  test.each(['gateway', 'relay'] as const)('%s on a port in use: one sentence names it', async (program) => {
    const taken = createServer().listen(0, '0.0.0.0');
    await once(taken, 'listening');
    const port = String((taken.address() as AddressInfo).port);
    const env = { DATABASE_URL: system.database.url, SECRETS_KEY: system.secretsKey, LOG_LEVEL: 'silent' };
    const ports = { GATEWAY_PORT: port, RELAY_PORT: port, RELAY_URL: `http://127.0.0.1:${port}` };
    const ended = await startBadly(program, { ...env, ...ports });
    taken.close();
    expectOneSentence(ended, new RegExp(`:${port} is in use`));
  });
});

describe('stopping by SIGTERM', () => {
  async function expectEndsInTime(program: Program): Promise<void> {
    const began = Date.now();
    await program.end('SIGTERM');
    const endedAfter = Date.now() - began;
    expect({ program: program.name, exitCode: program.exitCode }).toEqual({ program: program.name, exitCode: 0 });
    expect(endedAfter).toBeLessThan(STOP_WITHIN_MS);
  }

  test('a call that waits for its register is answered, not cut', async () => {
    const { client, register, gateways } = system;
    await register.end('SIGKILL');
    const waiting = client.post('/v1/receipts', client.saleOf(0), { prefer: 'wait=60', 'idempotency-key': 'waiting' });
    await until(
      'it is stored',
      () => sql(system.database, "SELECT 1 FROM receipts WHERE idempotency_key = 'waiting'"),
      ({ length }) => length === 1,
    );
    for (const gateway of gateways) await expectEndsInTime(gateway);
    expect(await waiting).toMatchObject({ status: 202, body: { status: 'accepted' } });
    await Promise.all([register.start(), ...gateways.map((gateway) => gateway.start())]);
    await until(
      'it is registered',
      () => client.post('/v1/receipts', client.saleOf(0), { 'idempotency-key': 'waiting' }),
      ({ status }) => status === 201,
    );
  });

  test('a relay with a device call open leaves in time, and the next one resolves the attempt', async () => {
    const { client, relays } = system;
    await setFaults(system, [{ fault: 'late_answer', next: 1, delay_ms: 30_000 }]);
    const { body } = await client.post('/v1/receipts', client.saleOf(0), { prefer: 'respond-async' });
    await until(
      'the call is open',
      () => sql(system.database, "SELECT 1 FROM attempts WHERE state = 'open'"),
      ({ length }) => length === 1,
    );
    for (const relay of relays) await expectEndsInTime(relay);
    for (const relay of relays) await relay.start();
    const read = await until(
      'the attempt is resolved',
      () => client.get(`/v1/receipts/${body.id}`),
      ({ body: now }) => now.status === 'registered',
    );
    expect(read.body.fiscal).toMatchObject({ evidence: 'journal' });
  });
});
