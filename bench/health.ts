import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { apiKeyOwner } from '#database';
import { parseKeyring, seal } from '#secrets';
import { startSystem, type TestSystem } from '../test/system/system.js';
import { processorTimeOf } from './processor-time.js';
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

export interface HealthLoad {
  devices: number;
  of: number;
  seconds: number;
  /** Another checkout that is built, of another version, to be measured after this one. */
  against?: string;
}

/**
 * What polls cost: as many polls a second as `of` registers need at one a minute, on fewer registers polled more
 * often; so many are due at any moment that none comes early. The registers are bare answers in this process; nothing moves on them, as at night.
 */
export async function benchHealth({ against, ...load }: HealthLoad): Promise<Figure[]> {
  return [
    ...(await measure('health', load)),
    ...(against === undefined ? [] : await measure('health before', load, resolve(against))),
  ];
}

async function measure(name: string, load: HealthLoad, root?: string): Promise<Figure[]> {
  let polls = 0;
  const server = createServer((request, response) => {
    const [, device = '', ...path] = (request.url ?? '').split('/');
    if (path[0] === 'status') polls += 1;
    response.setHeader('content-type', 'application/json');
    response.statusCode = path[0] === 'status' || path[0] === 'fm' ? 200 : 409;
    response.end(JSON.stringify(answerOf(device, path[0])));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const everyMs = Math.round((60_000 * load.devices) / load.of);
  const system = await startSystem({
    ...{ registers: 1, env: { HEALTH_POLL_MS: String(everyMs) } },
    ...(root !== undefined && { root }),
  });
  try {
    await addDevices(system, (server.address() as AddressInfo).port, load.devices);
    await delay(2 * everyMs);
    const polledBefore = polls;
    const begun = performance.now();
    const { spent } = await processorTimeOf(system, () => delay(load.seconds * 1_000));
    const seconds = (performance.now() - begun) / 1_000;
    const [perSecond, perPoll] = [(polls - polledBefore) / seconds, 1_000 / (polls - polledBefore)];
    return [
      { name: `${name}: polls per second (${load.of} registers, one a minute)`, value: perSecond, unit: '/s' },
      { name: `${name}: relay, share of one core`, value: (100 * spent.relay) / seconds, unit: '%', target: '≤ 8' },
      { name: `${name}: relay, per poll`, value: spent.relay * perPoll, unit: 'ms' },
      { name: `${name}: PostgreSQL, per poll`, value: spent.PostgreSQL * perPoll, unit: 'ms' },
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
