import { setTimeout as delay } from 'node:timers/promises';
import { LaneBell } from '../lane-bell.js';
import { LaneListener } from '../lane-listener.js';
import type { LaneQueueBackend } from '../lane-queue-backend.js';
import { QueueCounters } from '../queue-trouble.js';
import { counted, deafAtFirst } from './deaf-backend.js';
import { untilTrue } from '../../../runtime/src/testing/until.js';

/** What a back end's own file gives the contract. */
export interface LaneQueueUnderTest {
  backend(): LaneQueueBackend;
  /** Every connection of the programs is lost at once; the queue itself is there again at once. */
  dropConnections(): Promise<void>;
  /** The queue's server goes away … */
  takeDown(): Promise<void>;
  /** … and comes back. */
  bringBack(): Promise<void>;
  /** A deduplication key without a job, as a half-lost queue could leave behind. */
  leaveStrayDeduplicationKey(deviceId: string): Promise<void>;
  /** What is closed while the queue is away leaves timers behind: its process has to be ended, as the programs do (libs/runtime/src/shutdown.ts). */
  lingersAfterOutage?: boolean;
}

const quiet = { info: () => undefined, error: () => undefined };
let nextDevice = 0;
const newDevice = (): string => `dev_${String((nextDevice += 1)).padStart(26, '0')}`;

/** Handler that records what ran, how much of it at once, and holds a device until its release. */
class Register {
  readonly runs: string[] = [];
  readonly atOnce = new Map<string, number>();
  mostAtOncePerDevice = 0;
  mostAtOnce = 0;
  private running = 0;
  private readonly held = new Map<string, Promise<void>>();

  hold(deviceId: string): () => void {
    let release = (): void => undefined;
    this.held.set(deviceId, new Promise<void>((resolve) => (release = resolve)));
    return () => {
      this.held.delete(deviceId);
      release();
    };
  }

  readonly handler = async (deviceId: string): Promise<void> => {
    this.runs.push(deviceId);
    this.running += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.running);
    const ofDevice = (this.atOnce.get(deviceId) ?? 0) + 1;
    this.atOnce.set(deviceId, ofDevice);
    this.mostAtOncePerDevice = Math.max(this.mostAtOncePerDevice, ofDevice);
    await (this.held.get(deviceId) ?? delay(2));
    this.atOnce.set(deviceId, (this.atOnce.get(deviceId) ?? 0) - 1);
    this.running -= 1;
  };

  runsOf(deviceId: string): number {
    return this.runs.filter((run) => run === deviceId).length;
  }
}

/** The value once it has not changed for a second. */
async function settled(read: () => number): Promise<number> {
  for (let value = read(), sinceMs = Date.now(); ; await delay(20)) {
    if (read() !== value) [value, sinceMs] = [read(), Date.now()];
    else if (Date.now() - sinceMs > 1_000) return value;
  }
}

/** The promises of bell and listener that hold on every back end. */
export function laneQueueContract(queue: LaneQueueUnderTest): void {
  let open: (LaneBell | LaneListener)[] = [];
  const newBell = (counters = new QueueCounters()): LaneBell => {
    const bell = new LaneBell(queue.backend(), counters, quiet);
    open.push(bell);
    return bell;
  };
  const listen = (
    handler: (deviceId: string) => Promise<void>,
    concurrency = 10,
    lockDurationMs = 15_000,
  ): LaneListener => {
    const listener = new LaneListener(queue.backend(), new QueueCounters(), quiet);
    listener.start(handler, { concurrency, lockDurationMs });
    open.push(listener);
    return listener;
  };
  afterEach(async () => {
    await Promise.all(open.map((each) => each.close()));
    open = [];
  });

  test('a ring reaches the handler, and every ring is counted', async () => {
    const counters = new QueueCounters();
    const register = new Register();
    const device = newDevice();
    const bell = newBell(counters);
    listen(register.handler);
    bell.ring(device);
    await untilTrue(() => register.runsOf(device) === 1, 'the handler runs');
    await untilTrue(() => bell.state === 'up' && bell.waitingDevices === 0, 'nothing waits');
    expect(counters).toMatchObject({ rings: 1, adds: 1, addFailures: 0, droppedRings: 0 });
  });

  test('100 rings while the handler runs lead to exactly one further run', async () => {
    const register = new Register();
    const device = newDevice();
    const bell = newBell();
    listen(register.handler);
    const release = register.hold(device);
    bell.ring(device);
    await untilTrue(() => register.runsOf(device) === 1, 'the first run');
    for (let i = 0; i < 100; i += 1) {
      bell.ring(device);
      if (i % 10 === 0) await delay(2); // several adds, not one
    }
    await untilTrue(() => bell.waitingDevices === 0, 'all rings are in the queue');
    expect(register.runsOf(device)).toBe(1);
    release();
    await untilTrue(() => register.runsOf(device) === 2, 'the second run');
    await delay(500);
    expect(register.runsOf(device)).toBe(2);
  });

  test('devices run side by side up to the limit, and one that hangs keeps no other waiting', async () => {
    const register = new Register();
    const devices = Array.from({ length: 12 }, newDevice);
    const bell = newBell();
    listen(register.handler, 4);
    const release = devices.slice(0, 3).map((device) => register.hold(device));
    devices.forEach((device) => bell.ring(device));
    await untilTrue(() => devices.slice(3).every((device) => register.runsOf(device) === 1), 'the other nine ran');
    release.forEach((each) => each());
    await untilTrue(() => devices.every((device) => register.runsOf(device) === 1), 'all ran once');
    expect(register.mostAtOnce).toBeGreaterThan(3);
    expect(register.mostAtOnce).toBeLessThanOrEqual(4);
  });

  test('a ring made before any listener exists is delivered when one starts', async () => {
    const register = new Register();
    const device = newDevice();
    const bell = newBell();
    bell.ring(device);
    await untilTrue(() => bell.state === 'up' && bell.waitingDevices === 0, 'the ring is in the queue');
    await bell.close();
    listen(register.handler);
    await untilTrue(() => register.runsOf(device) === 1, 'the handler runs');
  });

  test('two listeners never run one device at once, and lose no ring', async () => {
    const register = new Register();
    const devices = [newDevice(), newDevice(), newDevice()];
    const bell = newBell();
    listen(register.handler);
    listen(register.handler);
    for (let i = 0; i < 200; i += 1) {
      for (const device of devices) bell.ring(device);
      if (i % 4 === 0) await delay(1);
    }
    await untilTrue(() => bell.waitingDevices === 0, 'all rings are in the queue');
    const before = devices.map((device) => register.runsOf(device));
    devices.forEach((device) => bell.ring(device));
    await untilTrue(
      () => devices.every((device, index) => register.runsOf(device) > (before[index] ?? 0)),
      'the last ring of each device is followed by a run',
    );
    expect(register.mostAtOncePerDevice).toBe(1);
  });

  test('a handler that throws does not stop later rings, of this device or another', async () => {
    const seen: string[] = [];
    const [bad, good] = [newDevice(), newDevice()];
    const bell = newBell();
    const counters = new QueueCounters();
    const listener = new LaneListener(queue.backend(), counters, quiet);
    open.push(listener);
    const handler = (deviceId: string): Promise<void> => {
      seen.push(deviceId);
      return deviceId === bad ? Promise.reject(new Error('register on fire')) : Promise.resolve();
    };
    listener.start(handler, { concurrency: 2 });
    bell.ring(bad);
    await untilTrue(() => seen.filter((each) => each === bad).length === 1, 'first run');
    await untilTrue(() => counters.handlerFailures === 1, 'the failure is counted');
    bell.ring(good);
    bell.ring(bad);
    await untilTrue(() => seen.includes(good) && seen.filter((each) => each === bad).length === 2, 'both ran again');
  });

  test('a ring while the handler fails still leads to one more run', async () => {
    const register = new Register();
    const device = newDevice();
    const bell = newBell();
    listen(async (deviceId) => {
      await register.handler(deviceId);
      throw new Error('register on fire');
    });
    const release = register.hold(device);
    bell.ring(device);
    await untilTrue(() => register.runsOf(device) === 1, 'first run');
    bell.ring(device);
    await untilTrue(() => bell.waitingDevices === 0, 'the second ring is in the queue');
    release();
    await untilTrue(() => register.runsOf(device) === 2, 'second run');
  });

  test('without a handler a listener refuses to start', () => {
    const listener = new LaneListener(queue.backend(), new QueueCounters(), quiet);
    const missing = undefined as unknown as () => Promise<void>;
    expect(() => listener.start(missing, { concurrency: 1 })).toThrow('No handler for the queue job drain-lane');
    expect(listener.state).toBe('closed');
  });

  test('losing every connection at once loses no later ring', async () => {
    const register = new Register();
    const bell = newBell();
    listen(register.handler);
    const first = newDevice();
    bell.ring(first);
    await untilTrue(() => register.runsOf(first) === 1, 'before');
    for (let round = 0; round < 3; round += 1) {
      await queue.dropConnections();
      const device = newDevice();
      bell.ring(device);
      await untilTrue(() => register.runsOf(device) === 1, `after loss ${round}`);
    }
    await untilTrue(() => bell.state === 'up', 'up again');
  });

  test('an outage: ring never throws, state falls and rises, rings made meanwhile are delivered after it', async () => {
    const register = new Register();
    const counters = new QueueCounters();
    const bell = newBell(counters);
    listen(register.handler);
    await untilTrue(() => bell.state === 'up', 'up');
    await queue.takeDown();
    const devices = Array.from({ length: 50 }, newDevice);
    for (let i = 0; i < 20; i += 1) devices.forEach((device) => bell.ring(device));
    await untilTrue(() => bell.state === 'down', 'down');
    devices.forEach((device) => bell.ring(device));
    expect(bell.waitingDevices).toBe(50);
    await queue.bringBack();
    await untilTrue(() => bell.state === 'up', 'up again');
    await untilTrue(() => devices.every((device) => register.runsOf(device) > 0), 'all delivered');
    expect(counters.droppedRings).toBe(0);
    expect(counters.addFailures + counters.errors).toBeGreaterThan(0);
    const later = newDevice();
    bell.ring(later);
    await untilTrue(() => register.runsOf(later) === 1, 'and later rings as well');
  });

  test('absent at start: bell and listener wait, and work as soon as the queue is there', async () => {
    await queue.takeDown();
    const register = new Register();
    const device = newDevice();
    const bell = newBell();
    const listener = listen(register.handler);
    bell.ring(device);
    await untilTrue(() => bell.state === 'down', 'the bell has found no queue');
    expect(listener.state).toBe('connecting');
    await queue.bringBack();
    await untilTrue(() => register.runsOf(device) === 1, 'delivered');
    await untilTrue(() => bell.state === 'up', 'up');
  });

  test('a worker whose claims are not answered any more is opened anew', async () => {
    const { backend, workers } = deafAtFirst(queue.backend());
    const counters = new QueueCounters();
    const listener = new LaneListener(backend, counters, quiet);
    open.push(listener);
    const register = new Register();
    const device = newDevice();
    newBell().ring(device);
    listener.start(register.handler, { concurrency: 2, deafAfterMs: 2_000 });
    await untilTrue(() => register.runsOf(device) === 1, 'the second worker hears');
    expect(workers()).toBeGreaterThan(1);
    expect(counters.errors).toBeGreaterThan(0);
  });

  test('a worker that has nothing to do is not taken for deaf', async () => {
    const { backend, workers } = counted(queue.backend());
    const listener = new LaneListener(backend, new QueueCounters(), quiet);
    open.push(listener);
    const register = new Register();
    const device = newDevice();
    const bell = newBell();
    // An idle worker claims every five seconds, on a busy machine later.
    listener.start(register.handler, { concurrency: 1, deafAfterMs: 20_000 });
    await untilTrue(() => listener.state === 'listening', 'listening');
    await delay(22_000);
    bell.ring(device);
    await untilTrue(() => register.runsOf(device) === 1, 'it still hears');
    expect(workers()).toBe(1);
  });

  test('nor is one that has no place left', async () => {
    const { backend, workers } = counted(queue.backend());
    const listener = new LaneListener(backend, new QueueCounters(), quiet);
    open.push(listener);
    const register = new Register();
    const device = newDevice();
    const release = register.hold(device);
    newBell().ring(device);
    listener.start(register.handler, { concurrency: 1, deafAfterMs: 8_000 });
    await untilTrue(() => register.runsOf(device) === 1, 'its only place is taken');
    await delay(12_000);
    expect(workers()).toBe(1);
    release();
  });

  test('a stray deduplication key does not silence its device', async () => {
    const register = new Register();
    const device = newDevice();
    const bell = newBell();
    listen(register.handler);
    await queue.leaveStrayDeduplicationKey(device);
    bell.ring(device);
    await untilTrue(() => register.runsOf(device) === 1, 'the handler runs');
  });

  test('close is bounded although a handler hangs, and gives its device back to the next relay', async () => {
    const stuck = new Register();
    const register = new Register();
    const device = newDevice();
    const bell = newBell();
    const listener = listen(stuck.handler, 10, 1_500);
    const release = stuck.hold(device);
    bell.ring(device);
    await untilTrue(() => stuck.runsOf(device) === 1, 'the handler hangs');
    const beganMs = Date.now();
    await listener.close(300);
    // The handler hangs for ever: a close that waited for it would never return.
    expect(Date.now() - beganMs).toBeLessThan(20_000);
    expect(listener.state).toBe('closed');
    listen(register.handler, 10, 1_500);
    await untilTrue(() => register.runsOf(device) === 1, 'another relay takes it over');
    release();
  });

  test('close waits for a handler that is at work, and takes no new wake-up', async () => {
    const register = new Register();
    const [device, later] = [newDevice(), newDevice()];
    const bell = newBell();
    // Longer than this test waits: a job that close() kept to itself would not come back in time.
    const listener = listen(register.handler, 10, 60_000);
    const release = register.hold(device);
    bell.ring(device);
    await untilTrue(() => register.runsOf(device) === 1, 'at work');
    let closed = false;
    const closing = listener.close(20_000).then(() => (closed = true));
    await delay(300);
    expect(closed).toBe(false);
    bell.ring(later);
    await untilTrue(() => bell.waitingDevices === 0, 'the later ring is in the queue');
    release();
    await closing;
    expect(register.runsOf(later)).toBe(0);
    listen(register.handler);
    await untilTrue(() => register.runsOf(later) === 1, 'the next relay runs it');
    expect(register.runsOf(device)).toBe(1);
  });

  test('nothing keeps the process alive after close, in an outage too', async () => {
    const alive = (): number => process.getActiveResourcesInfo().filter((each) => /TCP|Timeout/.test(each)).length;
    const before = await settled(alive); // what earlier tests closed is gone
    const atWork = [newBell(), listen(() => Promise.resolve())];
    await untilTrue(() => atWork.every(({ state }) => state === 'up' || state === 'listening'), 'both up');
    expect(alive()).toBeGreaterThan(before);
    await Promise.all(atWork.map((each) => each.close()));
    await untilTrue(() => alive() <= before, 'no socket and no timer is left');

    const cutOff = [newBell(), listen(() => Promise.resolve())];
    await untilTrue(() => cutOff.every(({ state }) => state === 'up' || state === 'listening'), 'both up');
    await queue.takeDown();
    const whileDown = newBell();
    cutOff.push(
      whileDown,
      listen(() => Promise.resolve()),
    );
    whileDown.ring(newDevice());
    await delay(1_500); // into the pauses between tries to reconnect
    const beganMs = Date.now();
    await Promise.all(cutOff.map((each) => each.close()));
    expect(Date.now() - beganMs).toBeLessThan(20_000);
    await queue.bringBack();
    if (queue.lingersAfterOutage === true) return;
    await delay(2_500); // a connection that still tried to reconnect would have done so by now
    await untilTrue(() => alive() <= before, 'no socket and no timer is left');
  });
}
