// Promise: a shop sets up a link as docs/link.md says, with the programs as they ship, and its sales become receipts.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { sql } from '../system/database.js';
import { Program } from '../system/program.js';
import { startSystem, type TestSystem } from '../system/system.js';
import { until } from '../../libs/runtime/src/testing/until.js';

let system: TestSystem;
const folder = mkdtempSync(join(tmpdir(), 'dial-out-'));
const programs: Program[] = [];

beforeAll(async () => {
  system = await startSystem({
    registers: 2,
    scopes: ['receipts:write', 'receipts:read', 'devices:admin'],
    // Lanes, polls and tasks of a register are then mostly in another process than its link.
    env: { RELAY_WORKERS: '3' },
  });
});
afterAll(async () => {
  await Promise.all(programs.map((program) => program.end()));
  await system.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** What the shop is given. */
async function enrol(deviceId: string): Promise<{ code: string; link_url: string }> {
  const { status, body } = await system.client.post(`/v1/devices/${deviceId}/enrolments`, {});
  expect(status).toBe(201);
  return body as unknown as { code: string; link_url: string };
}

async function start(program: Program): Promise<void> {
  programs.push(program);
  await program.start();
}

async function sells(more: Record<string, unknown>): Promise<void> {
  const { body } = await system.client.post('/v1/receipts', { ...system.client.saleOf(0), ...more });
  const { id } = body as unknown as { id: string };
  await until(
    'it is registered',
    async () => (await system.client.get(`/v1/receipts/${id}`)).body.status,
    (status) => status === 'registered',
  );
}

test('a cash register is registered, enrolled and dials out by itself, also after it was killed', async () => {
  const created = await system.client.post('/v1/devices', {
    ...{ branch_id: 'main', name: 'Behind NAT', transport: 'link', api_key: system.registerApiKey },
    profile: { pacing_ms: 0 },
  });
  expect(created).toMatchObject({ status: 201, body: { state: 'unreachable', state_reason: 'waiting for enrolment' } });
  const deviceId = created.body.id ?? '';
  const { code, link_url } = await enrol(deviceId);
  const port = await freePorts(1);
  const env = {
    ...{ LINK_URL: link_url, LINK_ENROLMENT_CODE: code, REGISTER_PORT: String(port), DATA_DIR: join(folder, 'own') },
    ...{ OFD_URLS: system.ofdUrl, REGISTER_API_KEY: system.registerApiKey, FM_MIN_INTERVAL_MS: '0' },
  };
  const register = new Program('dialling', 'cash-register/src/main.js', env, `http://127.0.0.1:${port}/status`);
  await start(register);
  const stateOf = async (): Promise<unknown> => (await system.client.get(`/v1/devices/${deviceId}`)).body;
  await until('it was asked who it is', stateOf, (device) => (device as { state: string }).state === 'online');
  expect(await stateOf()).toMatchObject({ terminal_id: expect.any(String), state_reason: null });
  await sells({ device_id: deviceId });
  await register.end('SIGKILL');
  await register.start();
  await sells({ device_id: deviceId });
  expect(register.said).not.toContain(code);
});

/** The agent's one file, on a machine that has Node.js and nothing of ours. */
function agentAlone(): string {
  execFileSync(process.execPath, ['scripts/build-agent.mjs']);
  const file = join(folder, 'link-agent.mjs');
  copyFileSync(join('dist', 'link-agent.mjs'), file);
  return relative(join(process.cwd(), 'dist', 'apps'), file);
}

test('an agent gives a link to a register that has none; revoked, it stays out', async () => {
  const { deviceId, cashierId } = system.merchant.tills[1]!;
  // It was called at its address until now.
  await sql(system.database, `UPDATE devices SET transport = 'link', base_url = NULL WHERE id = $1`, [deviceId]);
  const { code, link_url } = await enrol(deviceId);
  const port = await freePorts(1);
  const health = `http://127.0.0.1:${port}`;
  const env = {
    ...{
      LINK_URL: link_url,
      LINK_ENROLMENT_CODE: code,
      REGISTER_URL: system.registerUrls[1]!,
      AGENT_PORT: String(port),
    },
    DATA_DIR: join(folder, 'agent'),
  };
  const agent = new Program('agent', agentAlone(), env, `${health}/readyz`);
  await start(agent);
  await sells({ cashier_id: cashierId });
  await sql(system.database, 'UPDATE link_keys SET revoked_at = now() WHERE device_id = $1', [deviceId]);
  const readiness = async (): Promise<number> => {
    const response = await fetch(`${health}/readyz`);
    await response.arrayBuffer();
    return response.status;
  };
  await until('it has no link', readiness, (status) => status === 503);
  await until(
    'it received the reason',
    () => agent.said,
    (said) => said.includes('key_revoked'),
  );
  await agent.end();
  expect(agent.exitCode).toBe(0);
});

test('an agent without what it needs says so in one sentence', async () => {
  const refused = new Program(
    'agent',
    'link-agent/src/main.js',
    { LINK_URL: 'ws://links.example/link' },
    'http://127.0.0.1:9/',
  );
  await expect(refused.start()).rejects.toThrow('LINK_URL must be');
  expect(refused.lastWords).not.toContain('    at ');
});
