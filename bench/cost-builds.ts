import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { freePorts } from '../libs/runtime/src/testing/free-ports.js';
import { Program } from '../test/system/program.js';
import { startRedis, type TestRedis } from '../test/system/redis.js';
import { startSystem, type TestSystem } from '../test/system/system.js';
import { threeItemSale } from './accept.js';
import { openShift } from './latency.js';
import { localLines, type LocalLine } from './local-sale.js';
import { createObviousTable } from './obvious/table.js';
import { TABLES_OF_A_RECEIPT } from './spent.js';

/** A build of the same service: sales go in, and are fiscalised by a hundred registers. */
export interface Build {
  readonly name: string;
  readonly adminUrl: string;
  /** All its processes but PostgreSQL and the registers, by what they are. */
  readonly programs: Readonly<Record<string, readonly (number | null)[]>>;
  /** Its own tables, for the bytes at rest. */
  readonly tables: readonly string[];
  /** How many sales are accepted and have no end yet. */
  readonly underWay: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body of a sale of three lines, by register. */
  readonly bodies: readonly string[];
  stop(): Promise<void>;
}

const REGISTERS = 100;
const OURS = {
  tables: TABLES_OF_A_RECEIPT,
  underWay: "SELECT count(*)::int AS left FROM receipts WHERE status IN ('accepted', 'sending')",
};

/** @param checkout another one that is built, of another version; the database is of this one */
export async function startOurs(name: string, queue: 'postgres' | 'redis', checkout?: string): Promise<Build> {
  const redis = queue === 'redis' ? await startRedis() : null;
  const system = await startSystem({
    ...{ registers: REGISTERS },
    ...(redis && { queueUrl: redis.url }),
    ...(checkout !== undefined && { root: resolve(checkout) }),
  });
  const token = await system.client.fetchToken();
  await openShifts(system);
  const { tills, goods } = system.merchant;
  return {
    ...{ name, adminUrl: system.database.adminUrl, ...OURS },
    programs: {
      gateway: system.gateways.map(({ pid }) => pid),
      relay: system.relays.map(({ pid }) => pid),
      ...(redis && { Redis: [redis.pid] }),
    },
    url: `${system.gatewayUrls[0]}/v1/receipts`,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, prefer: 'respond-async' },
    bodies: tills.map((_, till) => JSON.stringify(threeItemSale(system.client.saleOf(till), goods))),
    stop: async () => {
      await system.stop();
      await redis?.stop();
    },
  };
}

/** The two that it is compared with, on registers of their own. */
export async function startCounterparts(): Promise<{ obvious: Build; bare: Build; stop: () => Promise<void> }> {
  const system = await startSystem({ registers: REGISTERS, gateways: 0, relays: 0 });
  await openShifts(system);
  const redis = await startRedis();
  const [obvious, bare] = [await startObvious(system, redis), await startBare(system)];
  return {
    obvious,
    bare,
    stop: async () => {
      await Promise.all([obvious.stop(), bare.stop()]);
      await system.stop();
      await redis.stop();
    },
  };
}

async function startObvious(system: TestSystem, redis: TestRedis): Promise<Build> {
  await createObviousTable(system.database.ownerUrl);
  const token = randomBytes(16).toString('hex');
  const { tills } = system.merchant;
  const shared = { DATABASE_URL: system.database.url, REDIS_URL: redis.url };
  const registers = Object.fromEntries(tills.map(({ cashierId, registerUrl }) => [cashierId, registerUrl]));
  const api = await benchProgram('obvious/api', { ...shared, API_TOKEN: token, REGISTERS: JSON.stringify(registers) });
  const worker = await benchProgram('obvious/worker', { ...shared, REGISTER_API_KEY: system.registerApiKey });
  const items = localLines().map(toObviousItem);
  return {
    ...{ name: 'obvious', adminUrl: system.database.adminUrl, tables: ['obvious_receipts'] },
    underWay: "SELECT count(*)::int AS left FROM obvious_receipts WHERE status = 'accepted'",
    programs: { gateway: [api.program.pid], relay: [worker.program.pid], Redis: [redis.pid] },
    url: `${api.url}/v1/receipts`,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    bodies: tills.map(({ cashierId }) => JSON.stringify({ cashier_id: cashierId, items, payment: { method: 'cash' } })),
    stop: async () => {
      await Promise.all([api.program.end(), worker.program.end()]);
    },
  };
}

async function startBare(system: TestSystem): Promise<Build> {
  const client = new pg.Client({ connectionString: system.database.ownerUrl });
  await client.connect();
  await client.query(
    `CREATE TABLE bench_fiscalised (id text PRIMARY KEY, status text NOT NULL, body jsonb NOT NULL, registration jsonb);
     GRANT SELECT, INSERT, UPDATE ON bench_fiscalised TO fiscal_app`,
  );
  await client.end();
  const { tills } = system.merchant;
  const bare = await benchProgram('bare-gateway', {
    ...{ DATABASE_URL: system.database.url, REGISTER_API_KEY: system.registerApiKey },
    REGISTER_URLS: JSON.stringify(tills.map(({ registerUrl }) => registerUrl)),
  });
  const items = localLines();
  const received = { cash: items.reduce((sum, { price, amount }) => sum + (price * amount) / 1_000, 0), card: 0 };
  const document = { type: 'sale', items, received };
  return {
    ...{ name: 'bare', adminUrl: system.database.adminUrl, tables: ['bench_fiscalised'] },
    underWay: "SELECT count(*)::int AS left FROM bench_fiscalised WHERE status = 'accepted'",
    programs: { gateway: [bare.program.pid] },
    url: `${bare.url}/receipts`,
    headers: { 'content-type': 'application/json' },
    bodies: tills.map((_, register) => JSON.stringify({ register, document })),
    stop: () => bare.program.end(),
  };
}

function toObviousItem({ amount, vat: _, ...line }: LocalLine): Record<string, unknown> {
  return { ...line, qty: amount / 1_000 };
}

async function benchProgram(entry: string, env: Record<string, string>): Promise<{ program: Program; url: string }> {
  const port = await freePorts(1);
  const url = `http://127.0.0.1:${port}`;
  const file = join('..', 'bench', `${entry}.js`);
  const program = new Program(entry, file, { ...env, PORT: String(port) }, `${url}/ready`);
  await program.start();
  return { program, url };
}

async function openShifts({ merchant, registerApiKey }: TestSystem): Promise<void> {
  await Promise.all(merchant.tills.map(({ registerUrl }) => openShift(registerUrl, registerApiKey)));
}
