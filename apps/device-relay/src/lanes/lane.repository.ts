import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database';
import type { DueLane } from './followed-lanes.js';
import { MoveAttempts } from './move-attempts.js';
import { MoveLanes } from './move-lanes.js';
import type { LaneStore } from './ports.js';
import { ReadLanes, type OverdueLanes } from './read-lanes.js';

/**
 * The lane's rows: read-lanes.ts says what is to be done, move-attempts.ts moves attempts with their receipts, move-lanes.ts
 * lanes and devices. Every move is one conditional statement: it happens from the expected state or not at all.
 */
@Injectable()
export class LaneRepository implements LaneStore {
  private readonly reading: ReadLanes;
  private readonly attempts: MoveAttempts;
  private readonly lanes: MoveLanes;

  constructor(prisma: PrismaService, relayId: string) {
    this.reading = new ReadLanes(prisma, relayId);
    this.attempts = new MoveAttempts(prisma, relayId);
    this.lanes = new MoveLanes(prisma, relayId);
  }

  lockNumberOf: LaneStore['lockNumberOf'] = (deviceId) => this.reading.lockNumberOf(deviceId);
  read: LaneStore['read'] = (deviceId, receipts) => this.reading.read(deviceId, receipts);
  unprovenRequest: LaneStore['unprovenRequest'] = (receiptId) => this.reading.unprovenRequest(receiptId);

  openAttempt: LaneStore['openAttempt'] = (intent) => this.attempts.openAttempt(intent);
  closeRegistered: LaneStore['closeRegistered'] = (close) => this.attempts.closeRegistered(close);
  recordLateAnswer: LaneStore['recordLateAnswer'] = (answer) => this.attempts.recordLateAnswer(answer);
  holdFromCopy: LaneStore['holdFromCopy'] = (receiptId) => this.attempts.holdFromCopy(receiptId);
  closeRejected: LaneStore['closeRejected'] = (attemptId, rejection, evidence, grip) =>
    this.attempts.closeRejected(attemptId, rejection, evidence, grip);
  rejectUnsent: LaneStore['rejectUnsent'] = (receipt, rejection) => this.attempts.rejectUnsent(receipt, rejection);
  closeNotRegistered: LaneStore['closeNotRegistered'] = (attemptId, evidence, grip) =>
    this.attempts.closeNotRegistered(attemptId, evidence, grip);
  closeUnknown: LaneStore['closeUnknown'] = (attemptId, evidence, options) =>
    this.attempts.closeUnknown(attemptId, evidence, options);
  noteRefusal: LaneStore['noteRefusal'] = (attemptId, evidence) => this.attempts.noteRefusal(attemptId, evidence);

  postpone: LaneStore['postpone'] = (deviceId, wait) => this.lanes.postpone(deviceId, wait);
  beginSettle: LaneStore['beginSettle'] = (deviceId, afterMs, reason) =>
    this.lanes.beginSettle(deviceId, afterMs, reason);
  endSettle: LaneStore['endSettle'] = (deviceId, baseline, grip) => this.lanes.endSettle(deviceId, baseline, grip);
  saveReading: LaneStore['saveReading'] = (deviceId, baseline, calibration) =>
    this.lanes.saveReading(deviceId, baseline, calibration);
  markShared: LaneStore['markShared'] = (deviceId, reason) => this.lanes.markShared(deviceId, reason);
  setDeviceState: LaneStore['setDeviceState'] = (deviceId, state, reason) =>
    this.lanes.setDeviceState(deviceId, state, reason);
  saveIdentity: LaneStore['saveIdentity'] = (deviceId, baseline, capabilities) =>
    this.lanes.saveIdentity(deviceId, baseline, capabilities);

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
