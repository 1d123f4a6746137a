import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../../libs/runtime/src/testing/free-ports.js';
import { createTestDatabase, startOwnServer, type OwnServer } from '../../../libs/database/src/testing/index.js';
import { prepareReleaseBefore } from '../../../scripts/lib/release-before.mjs';
import { OwnRedis } from '../../../libs/queue/src/testing/own-redis.js';
import { CutProxy } from '../../links/cut-proxy.js';
import { ReplicatedServer } from '../../recovery/replicated-server.js';
import { startPayments, type PaymentsRig } from '../../system/payments-rig.js';
import { startSystem, type SystemOptions, type TestSystem } from '../../system/system.js';
import { TcpProxy } from '../../system/tcp-proxy.js';
import { LossyNetwork } from './lossy-network.js';

/**
 * `fleet`: the queue in the shared test database. `redis`: the queue in a Redis of its own behind a proxy.
 * `database`: a PostgreSQL of its own, on a small disk where we may mount one. `everything`: both. `payments`: the payment
 * providers beside it. `line`: the programs reach the shared database over a line that can be cut without a sign; `lossy`: the
 * same over real networks whose packets are lost. `replicated`: a PostgreSQL of its own with a synchronous standby; `lagging`: one
 * to which a case attaches asynchronous standbys. `soak`: a PostgreSQL and a Redis of its own and the payment providers, for hours.
 * `releases`: the release before, built, and no system: its case starts some of its own.
 */
export type StageKind =
  | 'fleet'
  | 'redis'
  | 'database'
  | 'everything'
  | 'payments'
  | 'line'
  | 'lossy'
  | 'replicated'
  | 'lagging'
  | 'soak'
  | 'releases';

/** A running system of two gateways, two relays and five registers, and what it stands on. */
export interface Stage {
  kind: StageKind;
  system: TestSystem;
  redis: OwnRedis | null;
  redisProxy: TcpProxy | null;
  /** Where registers behind NAT dial in, on a stage of kind `fleet`: leads to one relay or the other. */
  linkProxy: CutProxy | null;
  /** On a stage of kind `fleet`: the gateways answer to the name 127.0.0.1 with this port, where a case may put a proxy. */
  publicPort: number | null;
  server: OwnServer | null;
  /** On a stage of the kinds `line` and `lossy`: what is connected to the database falls silent. Returns how many connections. */
  silenceDatabase: (() => number) | null;
  /** On a stage of kind `replicated`: the primary dies, the standby is promoted and takes over its address. */
  failOver: (() => Promise<void>) | null;
  /** On a stage of kind `releases`. */
  releaseBefore: Awaited<ReturnType<typeof prepareReleaseBefore>> | null;
  /** On a stage of kind `lagging`: the server, without a standby yet. */
  replica: ReplicatedServer | null;
  /** The payment providers, on a stage of that kind. */
  payments: PaymentsRig | null;
  /** Where the database's disk is mounted; null when it is the machine's own. */
  smallDisk: string | null;
  stop(): Promise<void>;
}

export const REGISTERS = 5;
/** Short deadlines, so that what was lost is noticed within the test; every promise holds with any of them. */
export const IMPATIENT = { sendTimeoutMs: 2_500, callTimeoutMs: 2_500, settleMs: 500 };
const DISK_SIZE = '320m';

export async function startStage(kind: StageKind): Promise<Stage> {
  const parts: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<void> => {
    for (const part of parts.reverse()) await part();
  };
  const options: SystemOptions = {
    registers: REGISTERS,
    gateways: 2,
    relays: 2,
    profile: IMPATIENT,
    scopes: ['receipts:write', 'receipts:read', 'refunds:write', 'operator:resolve', 'clients:admin'],
  };
  const stage: Stage = {
    ...{ kind, redis: null, redisProxy: null, linkProxy: null, server: null, smallDisk: null },
    ...{
      payments: null,
      publicPort: null,
      silenceDatabase: null,
      failOver: null,
      replica: null,
      releaseBefore: null,
      stop,
    },
    system: undefined as unknown as TestSystem,
  };
  if (kind === 'releases') return { ...stage, releaseBefore: await prepareReleaseBefore() };
  try {
    if (kind === 'database' || kind === 'everything' || kind === 'soak')
      options.database = await ownDatabase(stage, parts);
    if (kind === 'redis' || kind === 'everything' || kind === 'soak') options.queueUrl = await ownRedis(stage, parts);
    const linkPort = kind === 'fleet' ? await freePorts(1) : null;
    if (linkPort !== null) {
      stage.publicPort = await freePorts(1);
      options.env = {
        LINK_PUBLIC_URL: `ws://127.0.0.1:${linkPort}/link`,
        PUBLIC_HOSTS: `127.0.0.1:${stage.publicPort}`,
      };
    }
    if (kind === 'replicated' || kind === 'lagging') options.database = await replicatedDatabase(stage, parts);
    // A register that falls silent is to be noticed within the shortest lag.
    if (kind === 'lagging') options.env = { HEALTH_POLL_MS: '300' };
    if (kind === 'line' || kind === 'lossy') await overLine(stage, options, parts);
    const hasProviders = kind === 'payments' || kind === 'soak';
    stage.system = hasProviders ? await withProviders(stage, options, parts) : await startSystem(options);
    if (!hasProviders) parts.push(() => stage.system.stop());
    if (linkPort !== null) stage.linkProxy = await startLinkProxy(stage.system, linkPort, parts);
    return stage;
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Calls to a provider are given up early, so that many of them are. */
async function withProviders(
  stage: Stage,
  options: SystemOptions,
  parts: (() => Promise<unknown>)[],
): Promise<TestSystem> {
  const env = { PAYMENT_CALL_TIMEOUT_MS: '700' };
  const rig = await startPayments({ ...options, env, simulatorPort: await freePorts(1) });
  parts.push(() => rig.stop());
  stage.payments = rig;
  return rig.system;
}

/** All programs reach the database over one line; the test itself over another. */
async function overLine(stage: Stage, options: SystemOptions, parts: (() => Promise<unknown>)[]): Promise<void> {
  const database = await createTestDatabase();
  options.database = database;
  const url = new URL(database.url);
  url.searchParams.delete('connect_timeout');
  const target = Number(url.port);
  if (stage.kind === 'lossy') {
    const network = await LossyNetwork.open(target);
    // Without it the case is skipped; the programs need a database all the same.
    if (!network) return;
    parts.push(() => network.close());
    url.host = `${network.host}:5432`;
    stage.silenceDatabase = () => network.cutEstablished();
  } else {
    const port = await freePorts(1);
    const proxy = new TcpProxy(port, target);
    await proxy.listen();
    parts.push(() => proxy.close());
    url.port = String(port);
    stage.silenceDatabase = () => proxy.deafen();
  }
  options.env = { DATABASE_URL: url.href };
}

async function startLinkProxy(
  { relayUrls }: TestSystem,
  port: number,
  parts: (() => Promise<unknown>)[],
): Promise<CutProxy> {
  const proxy = new CutProxy('register', { host: '127.0.0.1', port: Number(new URL(relayUrls[0] ?? '').port) });
  await proxy.listen(port);
  parts.push(() => proxy.close());
  return proxy;
}

async function ownRedis(stage: Stage, parts: (() => Promise<unknown>)[]): Promise<string> {
  const redis = await OwnRedis.reserve();
  await redis.start();
  parts.push(() => redis.kill());
  const port = await freePorts(1);
  const proxy = new TcpProxy(port, redis.port);
  await proxy.listen();
  parts.push(() => proxy.close());
  Object.assign(stage, { redis, redisProxy: proxy });
  return `redis://127.0.0.1:${port}`;
}

async function ownDatabase(
  stage: Stage,
  parts: (() => Promise<unknown>)[],
): Promise<NonNullable<SystemOptions['database']>> {
  // What is sold for ten minutes and more would fill it.
  stage.smallDisk = stage.kind === 'database' ? mountSmallDisk(parts) : null;
  const server = await startOwnServer(stage.smallDisk ?? undefined);
  stage.server = server;
  parts.push(() => server.remove());
  return server.migratedDatabase();
}

async function replicatedDatabase(
  stage: Stage,
  parts: (() => Promise<unknown>)[],
): Promise<NonNullable<SystemOptions['database']>> {
  const isSynchronous = stage.kind === 'replicated';
  const server = await ReplicatedServer.start({ isSynchronous });
  parts.push(() => server.stop());
  if (isSynchronous) {
    await server.attachStandby();
    stage.failOver = async () => {
      await server.killPrimary();
      await server.promote();
    };
  } else stage.replica = server;
  return server.database;
}

/** A file system of its own that a test may fill: only root may mount one. */
function mountSmallDisk(parts: (() => Promise<unknown>)[]): string | null {
  if (process.getuid?.() !== 0 || process.platform !== 'linux') return null;
  const folder = mkdtempSync(join(tmpdir(), 'fiscal-small-disk-'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_SIZE},mode=0711`, 'tmpfs', folder]);
  if (mounted.status !== 0) {
    rmSync(folder, { recursive: true });
    return null;
  }
  parts.push(() => {
    // Lazily: whatever still holds a file there keeps it until it ends.
    spawnSync('umount', ['-l', folder]);
    rmSync(folder, { recursive: true, force: true });
    return Promise.resolve();
  });
  return folder;
}
