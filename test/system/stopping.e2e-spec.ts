// Promise: a program that is asked to stop ends what it has begun: no sale at a register becomes unknown, no caller is cut off.
import { startOwnServer, type OwnServer } from '../../libs/database/src/testing/own-server.js';
import { sql } from './database.js';
import { setFaults } from './outside-world.js';
import type { Program } from './program.js';
import { startSystem, type TestSystem } from './system.js';
import { until } from '../../libs/runtime/src/testing/until.js';

/** Far longer than seven seconds, which a relay once had to stop. */
const SLOW_MS = 20_000;

let server: OwnServer;
let system: TestSystem;
let relay: Program;
let gateway: Program;

beforeAll(async () => {
  server = await startOwnServer();
  system = await startSystem({
    database: await server.migratedDatabase(),
    profile: { settleMs: 500, parkAfterMs: 5_000 },
    // Knows no keys: an answer that is lost cannot be had again.
    registerEnv: { REGISTER_EXTENSIONS: 'off' },
    env: { STOP_LISTENER_AFTER_MS: '3000', STOP_DEADLINE_MS: '40000' },
  });
  [relay, gateway] = [system.relays[0]!, system.gateways[0]!];
  // Opens the shift.
  const first = await system.client.post('/v1/receipts', system.client.saleOf(0), { prefer: 'wait=60' });
  expect(first.status).toBe(201);
});
afterAll(async () => {
  await system?.stop();
  await server?.remove();
});
afterEach(async () => {
  await setFaults(system, []);
  for (const program of [relay, gateway]) if (!program.isRunning) await program.start();
});

interface Row {
  status: string;
  evidence: string | null;
  fiscal_sign: string | null;
}

async function rowOf(id: string): Promise<Row> {
  const [row] = await sql<Row>(
    system.database,
    'SELECT status::text, evidence::text, fiscal_sign FROM receipts WHERE id = $1',
    [id],
  );
  if (!row) throw new Error(`no receipt ${id}`);
  return row;
}

async function isReady(url: string): Promise<number> {
  try {
    return (await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) })).status;
  } catch {
    return 0; // no program listens
  }
}

/** A sale that its register has been given and answers after `delayMs`. */
async function beginSlowSale(delayMs: number): Promise<string> {
  await setFaults(system, [{ fault: 'late_answer', next: 1, delay_ms: delayMs }]);
  const { body } = await system.client.post('/v1/receipts', system.client.saleOf(0), { prefer: 'respond-async' });
  await registerHasIt();
  return String(body.id);
}

/** The fault strikes after the register has written the document. */
async function registerHasIt(): Promise<void> {
  await until(
    'the register has it and keeps its answer',
    async () => {
      const headers = { 'x-api-key': system.registerApiKey };
      const response = await fetch(`${system.registerUrls[0]}/emulator/faults`, { headers });
      return (await response.json()) as { rules: { next?: number }[] };
    },
    ({ rules }) => rules.every(({ next }) => next === 0),
  );
}

async function hasLeft(program: Program): Promise<void> {
  await until(
    `${program.name} has left`,
    () => program.isRunning,
    (isRunning) => !isRunning,
  );
}

const REGISTERED = { status: 'registered', evidence: 'answer', fiscal_sign: expect.any(String) };

test('a relay waits for the register that it has called, and says at once that it takes nothing more', async () => {
  const id = await beginSlowSale(SLOW_MS);
  relay.signal('SIGTERM');
  await until(
    'it is not ready',
    () => isReady(system.relayUrls[0]!),
    (status) => status === 503,
  );
  await hasLeft(relay);
  expect(relay.exitCode).toBe(0);
  expect(await rowOf(id)).toMatchObject(REGISTERED);
});

test('a gateway answers the waiting caller with its receipt, and new callers until its listener closes', async () => {
  await setFaults(system, [{ fault: 'late_answer', next: 1, delay_ms: 6_000 }]);
  const waiting = system.client.post('/v1/receipts', system.client.saleOf(0), { prefer: 'wait=60' });
  await registerHasIt();
  gateway.signal('SIGTERM');
  await until(
    'it is not ready',
    () => isReady(system.gatewayUrls[0]!),
    (status) => status === 503,
  );
  const late = await system.client.post('/v1/receipts', system.client.saleOf(0), { prefer: 'respond-async' });
  expect(late.status).toBe(202);
  const { status, body } = await waiting;
  expect({ status, body }).toMatchObject({ status: 201, body: { status: 'registered' } });
  await hasLeft(gateway);
  expect(gateway.exitCode).toBe(0);
});

test('an answer that cannot be written, because the database is away, is written by the next start', async () => {
  const id = await beginSlowSale(4_000);
  await server.kill('SIGQUIT');
  await until(
    'the answer is in hand',
    () => relay.said,
    (said) => said.includes('registered, but not recorded yet'),
  );
  relay.signal('SIGTERM');
  await hasLeft(relay);
  await server.restart();
  await relay.start();
  const row = await until(
    'it is recorded',
    () => rowOf(id),
    ({ status }) => status !== 'sending',
  );
  expect(row).toMatchObject(REGISTERED);
});
