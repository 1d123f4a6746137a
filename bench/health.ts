import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { apiKeyOwner } from '#database';
import { parseKeyring, seal } from '#secrets';
import { startSystem, type TestSystem } from '../test/system/system.js';
import type { Figure } from './report.js';

const STATUS = {
  ...{ app: 'bench', version: '1', systemVersion: '1', port: 1, fmInitialized: true, activated: true },
  ...{ subscriptionState: 'active', capabilities: ['idempotency', 'journal'] },
};
const SUMS = {
  ...{ AccumulatedSaleCash: 0, AccumulatedSaleCard: 0, AccumulatedRefundCash: 0, AccumulatedRefundCard: 0 },
  ...{ AccumulatedSaleVAT: 0, AccumulatedRefundVAT: 0 },
};
const COUNTS = { version: '1', type: 1, receiptCount: 0, receiptMaxCount: 858, zreportCount: 1, zreportMaxCount: 832 };

/**
 * What polls cost the relay: as many polls a second as `of` registers need at one a minute, on fewer registers polled more
 * often. The registers are bare answers in this process; nothing moves on them, as at night.
 */
export async function benchHealth(load: { devices: number; of: number; seconds: number }): Promise<Figure[]> {
  let polls = 0;
  const server = createServer((request, response) => {
    const [, device = '', ...path] = (request.url ?? '').split('/');
    if (path[0] === 'status') polls += 1;
    response.setHeader('content-type', 'application/json');
    response.statusCode = path[0] === 'status' || path[0] === 'fm' ? 200 : 409;
    response.end(JSON.stringify(answerOf(device, path[0])));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const everyMs = Math.round((60_000 * load.devices) / load.of);
  const system = await startSystem({ registers: 1, env: { HEALTH_POLL_MS: String(everyMs) } });
  try {
    await addDevices(system, (server.address() as AddressInfo).port, load.devices);
    await delay(2 * everyMs);
    const [polledBefore, cpuBefore] = [polls, await cpuSeconds(system)];
    const begun = performance.now();
    await delay(load.seconds * 1_000);
    const seconds = (performance.now() - begun) / 1_000;
    const cpu = (await cpuSeconds(system)) - cpuBefore;
    const rate = (polls - polledBefore) / seconds;
    return [
      { name: `health: polls per second (${load.of} registers, one a minute)`, value: rate, unit: '/s' },
      { name: 'health: relay, share of one core', value: (100 * cpu) / seconds, unit: '%', target: '≤ 10' },
      { name: 'health: relay, per poll', value: (1_000 * cpu) / (polls - polledBefore), unit: 'ms' },
    ];
  } finally {
    await system.stop();
    server.closeAllConnections();
    server.close();
  }
}

function answerOf(device: string, call: string | undefined): unknown {
  if (call === 'status') return { ...STATUS, journalId: device };
  if (call === 'fm') return { ...COUNTS, ...SUMS, terminalId: device, currentReceiptSeq: 7 };
  return { success: false, error: { code: 'F-002', message: 'no shift' } };
}

async function addDevices(system: TestSystem, port: number, count: number): Promise<void> {
  const client = new pg.Client({ connectionString: system.database.ownerUrl });
  await client.connect();
  const ids = Array.from({ length: count }, (_, index) => `dev_bench${index}`);
  const keyring = parseKeyring(system.secretsKey);
  const sealed = ids.map((id) => seal('bench-key-of-a-register', apiKeyOwner(id), keyring));
  await client.query(
    `INSERT INTO devices (id, merchant_id, branch_id, name, base_url, api_key_sealed, poll_due_at, business)
     SELECT d.id, m.merchant_id, m.id, d.id, 'http://127.0.0.1:' || $3::text || '/' || d.id, d.sealed,
            now() + random() * interval '5 s', '{}'
       FROM unnest($1::text[], $2::bytea[]) AS d(id, sealed), (SELECT id, merchant_id FROM branches LIMIT 1) m`,
    [ids, sealed, port],
  );
  await client.query('INSERT INTO lanes (device_id) SELECT unnest($1::text[])', [ids]);
  await client.end();
}

async function cpuSeconds({ relayUrls }: TestSystem): Promise<number> {
  const text = await (await fetch(`${relayUrls[0]}/metrics`)).text();
  return Number(/^process_cpu_seconds_total\{.*\} ([\d.e-]+)/m.exec(text)?.[1] ?? NaN);
}
