import { setTimeout as delay } from 'node:timers/promises';
import { SilentServer } from '../../test/system/silent-server.js';
import { GatewayClient } from '../../test/system/gateway-client.js';
import { startMoreRegisters } from '../../test/system/more-registers.js';
import { startSystem } from '../../test/system/system.js';
import { timesOf } from '../calls.js';
import { fill } from '../receipts.js';
import type { Figure } from '../report.js';
import { median, percentile } from '../statistics.js';
import { during, probe } from './flood.js';
import { Parties } from './parties.js';
import { rowsOf, type FloodRow } from './rows.js';

const SILENT = 300;
const SCOPES = [
  ...['receipts:write', 'receipts:read', 'catalog:write', 'catalog:read', 'devices:admin', 'clients:admin'],
  ...['messages:write', 'messages:read', 'webhooks:admin'],
];
/** A limit that fits the machine: two cores register some 250 sales a second (docs/performance.md). */
const CLIENT_LIMIT = '500/5';
/** Between two calls of the other merchant, which keeps the limit. */
const PAUSE_MS = 15;
const CONSOLE_ORIGIN = 'http://localhost:8080';
/** Every call to a silent register hangs for longer than a round. */
const HANGS = { callTimeoutMs: 600_000, sendTimeoutMs: 600_000 };

/**
 * (n) What one merchant's flood of a bounded resource does to another one's calls of it: p95 with the flood to p95 without, in turn.
 * The limit by client is on. The rest of the table in docs/security.md cannot be filled from outside by one party.
 */
export async function benchFloods(options: { rounds: number; calls: number; receipts: number }): Promise<Figure[]> {
  const silentServer = new SilentServer();
  const silentUrls = await silentServer.listen(SILENT);
  const system = await startSystem({
    ...{ registers: 2, scopes: SCOPES },
    env: {
      ...{ CLIENT_LIMIT, TRUSTED_PROXIES: '127.0.0.1/32', MESSAGE_ALLOWED_CIDRS: '127.0.0.0/8' },
      ...{ HEALTH_POLL_MS: '3600000', CONSOLE_URL: `${CONSOLE_ORIGIN}/console` },
    },
  });
  const flooder = await startMoreRegisters(system, { count: 2, scopes: SCOPES });
  const figures: Figure[] = [];
  try {
    const silent = await system.addMerchant({ registerUrls: silentUrls, profile: HANGS, scopes: SCOPES });
    await fill({ database: system.database, client: flooder.client }, options.receipts);
    const [gatewayUrl = '', relayUrl = '', silentUrl = ''] = [
      system.gatewayUrls[0],
      system.relayUrls[0],
      silentUrls[0],
    ];
    const parties = await Parties.of(
      { gatewayUrl, relayUrl, silentUrl, consoleOrigin: CONSOLE_ORIGIN },
      { other: system.client, flooder: flooder.client, silent: new GatewayClient(system.gatewayUrls, silent) },
    );
    const rows = await rowsOf(parties);
    for (const row of rows) {
      process.stderr.write(`${row.name} …\n`);
      figures.push(await figureOf(row, options));
    }
  } finally {
    await flooder.program.end();
    await system.stop();
    await silentServer.close();
  }
  return figures;
}

async function figureOf(row: FloodRow, { rounds, calls }: { rounds: number; calls: number }): Promise<Figure> {
  const { name, flood, call, end } = row;
  const paced = async (): Promise<number> => {
    await delay(PAUSE_MS);
    const begun = performance.now();
    await call();
    return performance.now() - begun;
  };
  const [alone, flooded, rates]: [number[], number[], number[]] = [[], [], []];
  const first = flood.kind === 'idle handshakes' ? null : flood.requests[0];
  const status = first && flood.kind !== 'endless uploads' ? await probe(first) : null;
  try {
    await timesOf(calls, paced);
    for (let round = 0; round < rounds; round += 1) {
      alone.push(...(await timesOf(calls, paced)));
      const { given, perSecond } = await during(flood, () => timesOf(calls, paced));
      flooded.push(...given);
      rates.push(perSecond);
    }
  } catch (error) {
    throw new Error(`${name}: the other merchant's call failed`, { cause: error });
  } finally {
    await end?.();
  }
  const [before, after] = [percentile(alone, 95), percentile(flooded, 95)];
  const p50s = `p50 ${percentile(alone, 50).toFixed(1)} → ${percentile(flooded, 50).toFixed(1)}`;
  const said = status === null ? '' : `, the first answered with ${String(status)}`;
  return {
    name: `${name}: ${String(flood.connections)} ${flood.kind}${said}`,
    value: after / before,
    unit: `× p95, ${before.toFixed(1)} → ${after.toFixed(1)} ms (${p50s}; ${median(rates).toFixed(0)} requests/s)`,
    target: '< 2 ×',
  };
}
