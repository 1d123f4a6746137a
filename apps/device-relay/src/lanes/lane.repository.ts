import { Prisma, type PrismaService } from '#database';
import * as ledger from '#ledger';
import { holdReceipts, readFleet } from '../copies/hold-receipts.js';
import type { DueLane } from './followed-lanes.js';
import { LaneDevices } from './lane-devices.js';
import type { LaneStore } from './ports.js';
import { ReadLanes, type OverdueLanes } from './read-lanes.js';

export interface LaneRepositoryOptions {
  /** Where a lane meets its register: a pool whose statements may take longer than a sale's. */
  meeting?: PrismaService;
  observeRegistered?: (seconds: number) => void;
}

/** The lane's rows: read-lanes.ts says what is to be done, libs/ledger moves what is moved, lane-devices.ts keeps the device's row. */
export class LaneRepository implements LaneStore {
  private readonly reading: ReadLanes;
  private readonly writes: ledger.LaneWrites;
  private readonly devices: LaneDevices;

  constructor(
    private readonly prisma: PrismaService,
    private readonly relayId: string,
    { meeting = prisma, observeRegistered }: LaneRepositoryOptions = {},
  ) {
    this.reading = new ReadLanes(prisma, relayId);
    this.writes = new ledger.LaneWrites(prisma, relayId, observeRegistered);
    this.devices = new LaneDevices(prisma, meeting);
  }

  lockNumberOf: LaneStore['lockNumberOf'] = (deviceId) => this.reading.lockNumberOf(deviceId);
  read: LaneStore['read'] = (deviceId, receipts) => this.reading.read(deviceId, receipts);
  unprovenRequest: LaneStore['unprovenRequest'] = (receiptId) => this.reading.unprovenRequest(receiptId);

  openAttempt: LaneStore['openAttempt'] = (intent) => this.writes.openAttempt(intent);
  closeRegistered: LaneStore['closeRegistered'] = (close) => this.writes.closeRegistered(close);
  closeAndOpen: LaneStore['closeAndOpen'] = (close, next) => this.writes.closeAndOpen(close, next);
  recordLateAnswer: LaneStore['recordLateAnswer'] = (answer) => ledger.recordLateAnswer(this.prisma, answer);
  closeRejected: LaneStore['closeRejected'] = (attempt, rejection, evidence, laneLock) =>
    ledger.closeRejected(this.prisma, attempt, { rejection, evidence }, laneLock);
  rejectUnsent: LaneStore['rejectUnsent'] = (receipt, rejection) =>
    ledger.rejectUnsent(this.prisma, receipt, rejection);
  closeNotRegistered: LaneStore['closeNotRegistered'] = (attempt, evidence, laneLock) =>
    ledger.closeNotRegistered(this.prisma, attempt, evidence, laneLock);
  closeUnknown: LaneStore['closeUnknown'] = (attempt, evidence, options) =>
    ledger.closeUnknown(this.prisma, attempt, evidence, options);
  noteRefusal: LaneStore['noteRefusal'] = (attempt, evidence) =>
    ledger.noteRefusal(this.prisma, this.relayId, attempt, evidence);

  holdFromCopy: LaneStore['holdFromCopy'] = (receiptId) =>
    this.prisma.$transaction(async (tx) => {
      const run: ledger.RunStatement = (statement) => tx.$queryRaw(statement);
      // A person may say at this moment that nothing was lost (nothing-lost.ts): before this hold, or after it.
      await run(Prisma.sql`SELECT id FROM database_identity FOR SHARE`);
      const held = await holdReceipts(run, await readFleet(run, receiptId), [receiptId]);
      return held.length > 0;
    });

  postpone: LaneStore['postpone'] = (deviceId, wait) => ledger.postponeLane(this.prisma, deviceId, wait);
  beginSettle: LaneStore['beginSettle'] = (deviceId, afterMs, reason) =>
    ledger.beginSettle(this.prisma, this.relayId, deviceId, { afterMs, reason });
  endSettle: LaneStore['endSettle'] = (deviceId, baseline, laneLock) =>
    ledger.endSettle(this.prisma, deviceId, baseline, laneLock);
  saveReading: LaneStore['saveReading'] = (deviceId, baseline, calibration) =>
    ledger.saveReading(this.prisma, deviceId, baseline, calibration);
  markShared: LaneStore['markShared'] = (deviceId, reason) => this.devices.markShared(deviceId, reason);
  setDeviceState: LaneStore['setDeviceState'] = (deviceId, state, reason) =>
    this.devices.setState(deviceId, state, reason);
  saveIdentity: LaneStore['saveIdentity'] = (deviceId, baseline, capabilities) =>
    this.devices.saveIdentity(deviceId, baseline, capabilities);

  overdueLanes(from: { overdueMs: number; after: string; lanes: number }): Promise<OverdueLanes> {
    return this.reading.overdueLanes(from);
  }

  merchantsOf(deviceIds: readonly string[]): Promise<Map<string, string>> {
    return this.reading.merchantsOf(deviceIds);
  }

  laneAt(share: number): Promise<string | null> {
    return this.reading.laneAt(share);
  }

  dueAmong(deviceIds: readonly string[]): Promise<DueLane[]> {
    return this.reading.dueAmong(deviceIds);
  }
}
