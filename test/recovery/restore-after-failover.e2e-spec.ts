// Promise: a receipt that failover moved after the copy was made, or after a standby lost its line, is registered once, also
// when its first register comes back.
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { sql } from '../system/database.js';
import { startMoreRegisters, type MoreRegisters } from '../system/more-registers.js';
import { documentsAtOfd } from '../system/outside-world.js';
import { startSystem, type TestSystem } from '../system/system.js';
import { TcpProxy } from '../system/tcp-proxy.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { byPromotion, byTimeTravel, type WayBack } from './ways-back.js';

const PROFILE = { sendTimeoutMs: 5_000, callTimeoutMs: 2_500, settleMs: 500, failoverAfterMs: 500 };

let way: WayBack;
let system: TestSystem;
let shop: MoreRegisters;
let firstPort: number;
let firstTarget: number;
let first: TcpProxy | null = null;

/** The line to the first register. */
async function connectFirst(): Promise<void> {
  first = new TcpProxy(firstPort, firstTarget);
  await first.listen();
}

async function begin(start: () => Promise<WayBack>): Promise<void> {
  way = await start();
  system = await startSystem({ database: way.database, env: { HEALTH_POLL_MS: '500' } });
  firstPort = await freePorts(1);
  shop = await startMoreRegisters(system, {
    count: 2,
    profile: PROFILE,
    seenAs: async ([a = '', b = '']) => {
      firstTarget = Number(new URL(a).port);
      await connectFirst();
      return [`http://127.0.0.1:${firstPort}`, b];
    },
  });
}
afterEach(async () => {
  await shop?.program.end();
  await first?.close();
  await system?.stop();
  await way?.stop();
});

interface Row {
  status: string;
  device: string;
  terminal: string | null;
  evidence: string | null;
}

async function rowOf(id: string): Promise<Row | null> {
  const [row] = await sql<Row & Record<string, unknown>>(
    system.database,
    'SELECT status::text, device_id AS device, terminal_id AS terminal, evidence::text FROM receipts WHERE id = $1',
    [id],
  );
  return row ?? null;
}

const registered = (id: string): Promise<Row | null> =>
  until(
    `${id} is registered`,
    () => rowOf(id),
    (row) => row?.status === 'registered',
  );

test.each([
  ['a copy is put back', byTimeTravel],
  ['an asynchronous standby is promoted', byPromotion],
])('%s: accepted at A, moved to B and registered there, A returns: one document', async (_name, start) => {
  await begin(start);
  const { client } = shop;
  const [a, b] = client.merchant.tills;
  for (const till of [0, 1]) {
    const sold = await client.post('/v1/receipts', client.saleOf(till), { prefer: 'wait=60' });
    expect(sold.status).toBe(201);
  }
  for (const relay of system.relays) await relay.end();
  await first?.close();
  const sale = (): Promise<{ status: number; body: { id?: string } }> =>
    client.post('/v1/receipts', client.saleOf(0), { prefer: 'respond-async' });
  const [moved, cancelled] = [String((await sale()).body.id), String((await sale()).body.id)];
  await way.keepPoint();

  // What the copy does not know: one is moved and registered at B, the other cancelled before it is sent.
  expect((await client.post(`/v1/receipts/${cancelled}/cancel`, { reason: 'changed their mind' })).status).toBe(200);
  for (const relay of system.relays) await relay.start();
  expect(await registered(moved)).toMatchObject({ device: b?.deviceId });
  const documents = await documentsAtOfd(system);
  expect(documents).toHaveLength(3);
  for (const program of [...system.gateways, ...system.relays]) await program.end();

  await way.goBack();
  expect(await rowOf(moved)).toMatchObject({ status: 'accepted', device: a?.deviceId });
  await connectFirst();
  for (const program of [...system.gateways, ...system.relays]) await program.start();

  // B is asked by key before A gets it; what no register has is sent after all.
  expect(await registered(moved)).toMatchObject({ device: b?.deviceId, evidence: 'journal' });
  expect(await registered(cancelled)).toMatchObject({ device: a?.deviceId });
  const after = await until(
    'the OFD has all',
    () => documentsAtOfd(system),
    ({ length }) => length >= 4,
  );
  expect(after).toHaveLength(4);
});
