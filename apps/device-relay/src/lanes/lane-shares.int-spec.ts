// Promise: a merchant with any number of lanes that all have a backlog does not keep another one's lane waiting for them.
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { apiKeyOwner } from '#database';
import { LaneBell, LaneListener, laneQueueBackend, QueueCounters } from '#queue';
import { OutgoingGuard, parseCidr } from '#outgoing';
import { createLogger, newId, systemClock } from '#runtime';
import { parseKeyring, seal } from '#secrets';
import {
  answer,
  MisbehavingServer,
  type ReceivedRequest,
} from '../../../../libs/local-api/src/testing/misbehaving-server.js';
import { OwnRedis, redisIsInstalled } from '../../../../libs/queue/src/testing/own-redis.js';
import { untilTrue } from '../../../../libs/runtime/src/testing/until.js';
import { RegisterConnections } from '../devices/register-connections.js';
import { AdvisoryLaneLocks } from './advisory-lane-locks.js';
import { AnswerFiles } from './answer-files.js';
import { later } from '../shares/places.js';
import { joinLane } from './join-lane.js';
import { LaneMerchants } from './lane-merchants.js';
import { LaneRunner } from './lane-runner.js';
import { LaneWakes } from './lane-wakes.js';
import { LaneWork } from './lane-work.js';
import { ReplayAnswers } from './replay-answers.js';
import { RecentLanes } from './recent-lanes.js';
import { Sweeper } from './sweeper.js';
import { WakeNotices } from './wake-notices.js';
import { answersInMemory } from './testing/answers-in-memory.js';
import { LaneRows } from './testing/lane-rows.js';
import { INFO, NO_LINKS, RECEIPT, SALE, STATUS } from './testing/register-answers.js';

/** One of them is kept for a merchant that has none. */
const PLACES = 8;
const LANES_OF_A = 300;
const LANES_OF_B = 20;
const keyring = parseKeyring(randomBytes(32).toString('base64'));
const logger = createLogger('test', 'silent');
const quiet = { info: () => undefined, error: () => undefined };
const mayRun = redisIsInstalled() || process.env['CI'] === 'true';

/** Every register of the test: each holds its sale until it is let through. */
class Tills {
  /** Devices in the order in which their turn began. */
  readonly begun: string[] = [];
  /** By device: answers its sale. */
  readonly held = new Map<string, () => void>();
  readonly server = new MisbehavingServer((socket, request) => this.react((text) => void socket.write(text), request));
  private readonly sequences = new Map<string, number>();

  heldOf(merchant: string): string[] {
    return [...this.held.keys()].filter((deviceId) => deviceId.startsWith(`dev_${merchant}`));
  }

  begunOf(merchant: string): number {
    return this.begun.filter((deviceId) => deviceId.startsWith(`dev_${merchant}`)).length;
  }

  letThrough(deviceId: string | undefined): void {
    const go = deviceId === undefined ? undefined : this.held.get(deviceId);
    if (deviceId === undefined || !go) throw new Error('this till holds nothing');
    this.held.delete(deviceId);
    go();
  }

  private react(write: (text: string) => void, { head }: ReceivedRequest): void {
    const deviceId = /x-api-key: (\S+)/i.exec(head)?.[1] ?? '';
    const path = head.split(' ')[1];
    const sequence = this.sequences.get(deviceId) ?? 40;
    const terminalId = `ZZ-${deviceId}`;
    if (path === '/status') write(answer(200, { ...STATUS, journalId: terminalId }));
    else if (path === '/fm/info') write(answer(200, { ...INFO, terminalId, currentReceiptSeq: sequence }));
    else {
      this.begun.push(deviceId);
      this.held.set(deviceId, () => {
        this.sequences.set(deviceId, sequence + 1);
        write(answer(200, { ...SALE, receipt: { ...RECEIPT, terminalId, receiptSeq: sequence + 1 } }));
      });
    }
  }
}

(mayRun ? describe : describe.skip)('lanes of two merchants in one relay', () => {
  let redis: OwnRedis;
  let rows: LaneRows;
  let locks: AdvisoryLaneLocks;
  let registers: RegisterConnections;
  let tills: Tills;
  let bell: LaneBell;
  let runner: LaneRunner;
  let work: LaneWork;

  const lanesOf = (merchant: string, count: number): string[] =>
    Array.from({ length: count }, (_, index) => `dev_${merchant}_${String(index).padStart(3, '0')}`);

  beforeAll(async () => {
    redis = await OwnRedis.reserve();
    await redis.start();
    rows = await LaneRows.start();
    await rows.createMerchant('a', '200000001');
    await rows.createMerchant('b', '200000002');
    await rows.createMerchant('c', '200000003');
    locks = new AdvisoryLaneLocks({ databaseUrl: rows.database.url, relayId: 'rly_ours' }, logger);
    locks.onApplicationBootstrap();
    await untilTrue(() => locks.isConnected, 'the session for locks');
  });

  afterAll(async () => {
    await locks?.onApplicationShutdown();
    await rows?.stop();
    await redis?.kill();
  });

  beforeEach(async () => {
    await rows.clear();
    await redis.command((client) => client.flushall());
    tills = new Tills();
    await tills.server.listen();
    const loopback = parseCidr('127.0.0.0/8');
    const guard = OutgoingGuard.forDevices(loopback.kind === 'ok' ? [loopback.cidr] : []);
    registers = new RegisterConnections(keyring, guard, NO_LINKS);
    startRelay();
    await untilTrue(() => bell.state === 'up', 'the queue');
  });

  afterEach(async () => {
    const ending = work.end(10_000);
    const releasing = setInterval(() => [...tills.held.keys()].forEach((deviceId) => tills.letThrough(deviceId)), 20);
    await ending;
    clearInterval(releasing);
    await bell.close();
    registers.close();
    await tills.server.close();
  });

  /** The relay's own parts, joined as its module does it. */
  function startRelay(): void {
    const backend = laneQueueBackend({ queueUrl: redis.url, databaseUrl: rows.database.url });
    const counters = new QueueCounters();
    bell = new LaneBell(backend, counters, quiet);
    const answers = answersInMemory(rows.ours, delay);
    const notices = { notify: () => undefined };
    const world = { store: rows.ours, locks, registers, notices, answers };
    const drainLane = joinLane(world, { clock: systemClock, logger, random: Math.random, later });
    const merchants = new LaneMerchants(rows.ours);
    const ringAgain = (deviceId: string): void => bell.ring(deviceId);
    runner = new LaneRunner(drainLane, merchants, ringAgain, { places: PLACES, aside: 0 }, logger);
    const replay = new ReplayAnswers(new AnswerFiles(join(tmpdir(), newId('no'))), answers, notices, logger);
    const sweeper = new Sweeper(rows.ours, merchants, runner, systemClock, Math.random, logger);
    const wakeNotices = new WakeNotices(
      { databaseUrl: rows.database.url },
      new RecentLanes(),
      runner,
      { notifyTaken: () => undefined },
      logger,
    );
    const wakes = new LaneWakes(new LaneListener(backend, counters, quiet), wakeNotices);
    work = new LaneWork(wakes, runner, sweeper, answers, replay, logger);
    work.start({ places: PLACES });
  }

  /** Lanes with a backlog, whose wake-ups are not sent yet. */
  async function openTills(merchant: string, count: number, receipts: number): Promise<string[]> {
    const lanes = lanesOf(merchant, count);
    const profile = { sendTimeoutMs: 120_000, callTimeoutMs: 120_000, pacingMs: 0, settleMs: 0 };
    for (const deviceId of lanes) {
      await rows.createDevice(deviceId, merchant);
      const fields = [deviceId, tills.server.url, seal(deviceId, apiKeyOwner(deviceId), keyring), profile];
      await rows.sql.query('UPDATE devices SET base_url = $2, api_key_sealed = $3, profile = $4 WHERE id = $1', fields);
      for (let receipt = 0; receipt < receipts; receipt += 1) await rows.createReceipt({ deviceId });
    }
    return lanes;
  }

  async function flood(): Promise<void> {
    for (const deviceId of await openTills('a', LANES_OF_A, 2)) bell.ring(deviceId);
    await untilTrue(() => tills.held.size >= PLACES - 1, 'the places are taken');
  }

  const isRegistered = async (deviceId: string): Promise<boolean> => {
    const { left } = await rows.one<{ left: number }>(
      `SELECT count(*)::int AS left FROM receipts WHERE device_id = '${deviceId}' AND status <> 'registered'`,
    );
    return left === 0;
  };

  test('the only lane of another merchant begins at once, and no turn of the first one comes before it', async () => {
    await flood();
    const [lane] = await openTills('b', 1, 1);
    bell.ring(lane ?? '');
    await untilTrue(() => tills.begunOf('b') === 1, 'the other merchant’s receipt');
    tills.letThrough(lane);
    await untilTrue(() => isRegistered(lane ?? ''), 'the other merchant’s receipt is registered');
    expect([tills.begunOf('a'), tills.begunOf('b')]).toEqual([PLACES - 1, 1]);
  });

  test('also when its wake-up was lost: the sweeper finds it though hundreds of overdue lanes stand before it', async () => {
    await flood();
    const [lane] = await openTills('b', 1, 1);
    await rows.passTime(60_000);
    await untilTrue(() => tills.begunOf('b') === 1, 'the other merchant’s receipt');
    tills.letThrough(lane);
    await untilTrue(() => isRegistered(lane ?? ''), 'the other merchant’s receipt is registered');
    expect(tills.begunOf('a')).toBe(PLACES - 1);
  });

  test('places that become free go to the merchant with the fewest at work, until all have the same; a third one waits for none', async () => {
    await flood();
    for (const deviceId of await openTills('b', LANES_OF_B, 2)) bell.ring(deviceId);
    await untilTrue(() => tills.heldOf('b').length === 1, 'the last place');
    await untilTrue(() => runner.lanesWaiting >= LANES_OF_B - 1 + LANES_OF_A - PLACES + 1, 'all lanes wait here');
    const shares: number[][] = [];
    for (let round = 0; round < 6; round += 1) {
      await endTurn(tills.heldOf('a')[0]);
      // The place that becomes free first is kept for a merchant without one.
      await untilTrue(() => tills.held.size === PLACES - 1, 'the next turn');
      shares.push([tills.heldOf('a').length, tills.heldOf('b').length]);
    }
    // With as many each, they take turns.
    expect(shares).toEqual([
      [6, 1],
      [5, 2],
      [4, 3],
      [4, 3],
      [3, 4],
      [3, 4],
    ]);
    const [lane] = await openTills('c', 1, 1);
    const before = tills.begun.length;
    bell.ring(lane ?? '');
    await untilTrue(() => tills.begunOf('c') === 1, 'the third merchant’s receipt');
    expect(tills.begun.length).toBe(before + 1);
  });

  /** Both receipts of a lane, so that its turn is over and its place another's. */
  async function endTurn(deviceId: string | undefined): Promise<void> {
    if (deviceId === undefined) throw new Error('no lane is at work');
    tills.letThrough(deviceId);
    await untilTrue(() => tills.held.has(deviceId), 'its second receipt');
    tills.letThrough(deviceId);
    await untilTrue(() => isRegistered(deviceId), 'both are registered');
  }
});
