import { growthOf, proveByCounters, type Baseline, type CounterProof, type Registration } from '#fiscal-domain';
import type { LaneInHand, Step } from './lane-in-hand.js';
import type { LaneSetbacks } from './lane-setbacks.js';
import type { ParkAttempt } from './park-attempt.js';
import type { LaneStore, OpenAttempt, SettledNotices } from './ports.js';
import type { SettleLane } from './settle-lane.js';

/** An open attempt on a register that knows no keys: settled by proof, or parked with its evidence. */
export class ResolveByCounters {
  constructor(
    private readonly store: LaneStore,
    private readonly settler: SettleLane,
    private readonly setbacks: LaneSetbacks,
    private readonly parking: ParkAttempt,
    private readonly notices: SettledNotices,
  ) {}

  async resolve(lane: LaneInHand, attempt: OpenAttempt, reason: string): Promise<Step> {
    const { reading: baseline } = attempt.baseline;
    if (baseline === null) {
      return this.parking.park(
        attempt,
        { reason, why: 'no reading of the counters was taken before it' },
        { mustSettle: true },
      );
    }
    const settled = await this.settler.settle(lane, attempt.id, attempt.baseline);
    if (settled.kind === 'waiting') return settled.step;
    if (settled.kind === 'keyed')
      return this.setbacks.replaced(lane, 'the register has extensions that it did not have');
    const growth = growthOf(attempt.document);
    const { first, second } = settled;
    const { calibration, device } = lane;
    const exclusive = device.profile.sharing === 'exclusive';
    const proof = proveByCounters({ baseline, growth }, { first, second }, { calibration, exclusive });
    const evidence = { reason, baseline, reading: second, proof };
    return this.record(
      lane,
      { attempt, evidence, after: { ...settled.baseline, sequence: attempt.baseline.sequence } },
      proof,
    );
  }

  private async record(lane: LaneInHand, found: Found, proof: CounterProof): Promise<Step> {
    const { attempt, evidence, after } = found;
    const which = { attemptId: attempt.id, receiptId: attempt.receiptId };
    switch (proof.kind) {
      case 'not_registered':
        if (!(await this.store.closeNotRegistered(which, evidence, lane.laneLock))) return { kind: 'reread' };
        await this.store.endSettle(lane.device.id, after, lane.laneLock);
        return this.setbacks.retryLater(lane, 'proven not registered; sent again');
      case 'registered':
        return this.recordRegistered(lane, found, proof);
      case 'moving':
      case 'unproven': {
        const difference = proof.kind === 'unproven' ? proof.difference : 'the counters never came to rest';
        if (lane.device.profile.sharing === 'exclusive') await this.store.markShared(lane.device.id, difference);
        const neverQuiet = proof.kind === 'moving';
        const step = await this.parking.park(attempt, { ...evidence, difference }, { mustSettle: neverQuiet });
        if (!neverQuiet) await this.store.endSettle(lane.device.id, after, lane.laneLock);
        return step;
      }
    }
  }

  /** The sign is not to be had: the API cannot give it back. An operator completes it from the register or the OFD. */
  private async recordRegistered(
    lane: LaneInHand,
    { attempt, after }: Found,
    { terminalId, receiptSeq }: Extract<CounterProof, { kind: 'registered' }>,
  ): Promise<Step> {
    const registration: Registration = {
      terminalId,
      receiptSeq,
      fiscalSign: null,
      verificationUrl: null,
      transactionTimeMs: attempt.createdAt.getTime(),
      ofdSent: false,
      ofdError: 'not known: the answer was lost',
      recordedFields: [],
      shiftNumber: null,
    };
    const baseline = { ...after, sequence: receiptSeq };
    const deviceId = lane.device.id;
    const closed = await this.store.closeRegistered({
      attemptId: attempt.id,
      receiptId: attempt.receiptId,
      deviceId,
      registration,
      evidence: 'counters',
      baseline,
      lastKnown: null,
    });
    if (closed === 'sequence_taken') {
      return this.parking.park(
        attempt,
        { why: `sequence ${receiptSeq} belongs to another receipt` },
        { mustSettle: false },
      );
    }
    this.notices.notify(attempt.receiptId);
    await this.store.endSettle(deviceId, baseline, lane.laneLock);
    return { kind: 'reread' };
  }
}

interface Found {
  attempt: OpenAttempt;
  evidence: Record<string, unknown>;
  /** What the lane goes on from. */
  after: Baseline;
}
