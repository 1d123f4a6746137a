import type { Rejection } from '#fiscal-domain';
import { isUnproven, LaneLedger, moveAttempt } from './ledger.js';
import type { AttemptRow, ReceiptRow } from './ledger-rows.js';

interface Registered {
  terminalId: string;
  receiptSeq: number;
  fiscalSign: string | null;
}

/** The whole ledger: beside what lanes do, what the gateway, payments, an operator and the comparison after a restore write. */
export class Ledger extends LaneLedger {
  /** A receipt that is not in a lane: it waits for its money. */
  awaitPayment(receipt: ReceiptRow): void {
    this.receipts.set(receipt.id, receipt);
  }

  release(receipt: ReceiptRow): boolean {
    if (receipt.status !== 'awaiting_payment' || receipt.isProviders === true) return false;
    this.move(receipt, 'accepted');
    this.moveIntoLane(receipt);
    return true;
  }

  registerByProvider(receipt: ReceiptRow, registered: Registered): boolean {
    if (receipt.status !== 'awaiting_payment' || receipt.isProviders !== true) return false;
    Object.assign(receipt, registered);
    this.move(receipt, 'registered', 'by its provider');
    return true;
  }

  cancel(receipt: ReceiptRow): boolean {
    if (receipt.status !== 'accepted' || receipt.attempts.some(isUnproven)) return false;
    this.withdraw(receipt);
    return true;
  }

  cancelUnpaid(receipt: ReceiptRow): boolean {
    if (receipt.status !== 'awaiting_payment') return this.cancel(receipt);
    this.move(receipt, 'cancelled');
    return true;
  }

  /** An operator's `not_registered` on a parked attempt. */
  sendAgain(receipt: ReceiptRow): boolean {
    if (receipt.status !== 'unknown') return false;
    receipt.sentAgainByOperator = true;
    const parked = this.parkedOf(receipt);
    if (parked) {
      moveAttempt(parked, 'not_registered');
      parked.outcome = { ...parked.outcome, resolution: {} };
    }
    this.move(receipt, 'accepted');
    this.moveIntoLane(receipt);
    return true;
  }

  /** An operator's `not_registered`, and none is to get it any more. */
  rejectUnregistered(receipt: ReceiptRow, rejection: Rejection): boolean {
    const parked = this.parkedOf(receipt);
    const waitsAgain = receipt.status === 'accepted' && receipt.attempts.some(isUnproven);
    if (!waitsAgain && (receipt.status !== 'unknown' || !parked)) return false;
    if (parked) moveAttempt(parked, 'not_registered');
    this.move(receipt, 'rejected', rejection.code);
    this.promises.givenUp(receipt);
    return true;
  }

  /** An operator has found it in a register. */
  registerByOperator(receipt: ReceiptRow, registered: Registered): boolean {
    const parked = this.parkedOf(receipt);
    if (receipt.status !== 'unknown' || !parked) return false;
    moveAttempt(parked, 'registered');
    this.registrations.set(`${registered.terminalId}/${registered.receiptSeq}`, receipt.id);
    Object.assign(receipt, registered);
    this.move(receipt, 'registered', 'by an operator');
    return true;
  }

  /** The comparison after a restore has found it in no register. */
  releaseCompared(receipt: ReceiptRow): boolean {
    const parked = this.parkedOf(receipt);
    if (receipt.status !== 'unknown' || !parked) return false;
    moveAttempt(parked, 'not_registered');
    parked.outcome = { ...parked.outcome, compared: [] };
    this.move(receipt, 'accepted');
    this.moveIntoLane(receipt);
    return true;
  }

  /** Held after a restore: another register may have it. */
  holdCopied(receipt: ReceiptRow): boolean {
    if (receipt.status === 'sending') return this.park(receipt);
    if (receipt.status !== 'accepted') return false;
    this.takeOut(receipt, 'held after a restore');
    return true;
  }

  /** An operator, or the move of its terminal, ends the open attempt. */
  park(receipt: ReceiptRow): boolean {
    const open = receipt.attempts.find(({ state }) => state === 'open');
    if (open === undefined) return false;
    const which = { attemptId: open.id, receiptId: receipt.id };
    const evidence = { ...open.outcome, baseline: open.baseline, why: 'parked' };
    return this.closeUnknown(which, evidence, { mustSettle: open.baseline.journalId === null });
  }

  /** An operator accepts another fiscal module: what is open there is unknown, and nothing that was known of the one before holds. */
  adopt(deviceId: string): void {
    const open = this.openAttemptOf(deviceId);
    const device = this.devices.get(deviceId)!;
    if (open)
      this.closeUnknown(
        { attemptId: open.id, receiptId: open.receiptId },
        { baseline: open.baseline, why: 'the fiscal module was replaced' },
        { mustSettle: !device.keyed },
      );
    this.holdBackUnproven(deviceId);
    // Another one of the same app may have a request of ours asleep; of one that has never been met nothing is known.
    const mustSettle = this.laneOf(deviceId).mustSettle || device.journalId === null;
    Object.assign(device, { terminalId: null, journalId: null });
    Object.assign(this.laneOf(deviceId), {
      mustSettle,
      baseline: null,
      lastKnown: null,
      calibration: null,
      dueAtMs: null,
    });
    device.state = 'online';
    device.profile = { ...device.profile, sharing: 'shared' };
    this.note(`${deviceId} adopted`);
  }

  private parkedOf(receipt: ReceiptRow): AttemptRow | undefined {
    return receipt.attempts.findLast(({ state }) => state === 'unknown');
  }
}
