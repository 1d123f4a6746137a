// Promise: an older database that was put back, with receipts "accepted" that were registered since, sells nothing twice.
import { LocalApiClient } from '#local-api';
import { Chance } from '../../apps/device-relay/src/lanes/simulation/testing/chance.js';
import { Load } from '../faults/frame/load.js';
import { sql } from '../system/database.js';
import type { GatewayClient } from '../system/gateway-client.js';
import { startMoreRegisters } from '../system/more-registers.js';
import { documentsAtOfd } from '../system/outside-world.js';
import { startSystem, type TestSystem } from '../system/system.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { findPackaged } from './packaged-postgres.js';
import { byDump, byTimeTravel, type WayBack } from './ways-back.js';

const PROFILE = { sendTimeoutMs: 2_500, callTimeoutMs: 2_500, settleMs: 500, parkAfterMs: 5_000 };
const SCOPES = ['receipts:write', 'receipts:read', 'operator:resolve'];
const packaged = findPackaged();
const WAYS: [string, () => Promise<WayBack>][] = [['point-in-time recovery', byTimeTravel]];
// The embedded server has no tools; where a packaged one is installed, its pg_dump is tried with it.
if (packaged) WAYS.push(['pg_dump and pg_restore', () => byDump(packaged)]);

const sell = async (client: GatewayClient, prefix: string, total: number, asyncShare = 0): Promise<void> => {
  const load = new Load(client, { prefix, total, asyncShare, chance: new Chance(1), perTill: 1, breathMs: 0 });
  await load.end();
  expect(load.complaints).toEqual([]);
};

async function sequenceOf(system: TestSystem, url: string): Promise<number> {
  const register = new LocalApiClient({ baseUrl: url, apiKey: system.registerApiKey, timeoutMs: 10_000 });
  try {
    const info = await register.fmInfo();
    if (info.kind !== 'ok') throw new Error(`GET /fm/info: ${info.kind}`);
    return info.value.currentReceiptSeq;
  } finally {
    register.close();
  }
}

interface Standing {
  device: string;
  status: string;
  count: number;
}

function standing(system: TestSystem, deviceId: string): Promise<Standing[]> {
  return sql<Standing>(
    system.database,
    `SELECT d.state::text AS device, r.status::text AS status, count(*)::int AS count
       FROM receipts r JOIN devices d ON d.id = r.device_id WHERE d.id = $1 GROUP BY 1, 2 ORDER BY 2`,
    [deviceId],
  );
}

test.each(WAYS)('%s', async (_name, start) => {
  const way = await start();
  let system: TestSystem | null = null;
  try {
    system = await startSystem({ database: way.database, profile: PROFILE, scopes: SCOPES });
    const plain = await startMoreRegisters(system, {
      env: { REGISTER_EXTENSIONS: 'off' },
      profile: PROFILE,
      scopes: SCOPES,
    });
    try {
      await tryWayBack(way, system, plain.client);
    } finally {
      await plain.program.end();
    }
  } finally {
    await system?.stop();
    await way.stop();
  }
});

async function tryWayBack(way: WayBack, system: TestSystem, plainClient: GatewayClient): Promise<void> {
  const { client, gateways, relays } = system;
  const [ours, plain] = [client.merchant.tills[0]!, plainClient.merchant.tills[0]!];
  const clients = [
    ['ours', client],
    ['plain', plainClient],
  ] as const;
  for (const [name, one] of clients) await sell(one, `${name}-known`, 6);
  // At the moment of the copy three wait at each register; afterwards these and four more are registered.
  for (const relay of relays) await relay.end();
  for (const [name, one] of clients) await sell(one, `${name}-waiting`, 3, 1);
  await way.keepPoint();
  for (const relay of relays) await relay.start();
  for (const [name, one] of clients) await sell(one, `${name}-after`, 4);
  for (const program of [...gateways, ...relays]) await program.end();
  const held = await documentsAtOfd(system);
  expect(held).toHaveLength(26);

  await way.goBack();
  for (const program of [...gateways, ...relays]) await program.start();

  // Without a journal nothing can be asked: the lane stands still, and what waits is for a person to decide.
  const plainStanding = await until(
    'the lane is held',
    () => standing(system, plain.deviceId),
    (rows) => rows.every(({ device, status }) => device === 'replaced' && !['accepted', 'sending'].includes(status)),
  );
  expect(plainStanding).toEqual([
    { device: 'replaced', status: 'registered', count: 6 },
    { device: 'replaced', status: 'unknown', count: 3 },
  ]);
  // With one, the register itself says which registration belongs to the key.
  const oursStanding = await until(
    'the lane has finished',
    () => standing(system, ours.deviceId),
    (rows) => rows.every(({ status }) => !['accepted', 'sending'].includes(status)),
  );
  expect(oursStanding.reduce((sum, { count }) => sum + count, 0)).toBe(9);
  process.stdout.write(`registers with a journal after the restore: ${JSON.stringify(oursStanding)}\n`);
  expect(await documentsAtOfd(system)).toEqual(held);
  expect(await sequenceOf(system, ours.registerUrl)).toBe(13);
  expect(await sequenceOf(system, plain.registerUrl)).toBe(13);

  // Work goes on: at ours by itself, at the other after an operator's decision.
  const path = `/v1/operator/devices/${plain.deviceId}/adopt`;
  const adopted = await plainClient.post(path, { reason: 'compared with the journal of the register' });
  expect({ status: adopted.status, body: adopted.body }).toMatchObject({ status: 200 });
  for (const [name, one] of clients) await sell(one, `${name}-again`, 1);
  const documents = await until(
    'both registers sold again',
    () => documentsAtOfd(system),
    ({ length }) => length >= held.length + clients.length,
  );
  const names = documents.map(({ items }) => items[0]?.name);
  expect(new Set(names).size).toBe(names.length);
  expect(names).toHaveLength(28);
}
