import { createSecretKey, randomBytes, randomInt, type KeyObject } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { OFD_FUSE_MS, SHIFT_DOCUMENT_LIMIT, tashkentCompact } from '#fiscal-domain';
import type { Clock } from '#runtime';
import { inTransaction, isDiskFull, type Sqlite } from '../journal/database.js';
import type { Journal } from '../journal/journal.js';
import { digestOf, documentPayload, NO_DIGEST, NO_SUMS, refusal, signOf, zReportPayload } from '#fiscal-module';
import type * as port from '#fiscal-module';
import { shiftAfter, stateAfter } from './after-document.js';
import { DocumentRules } from './document-rules.js';
import { ModuleStore, type ModuleState } from './module-store.js';
import { isSigned, verifyChain, type ChainBreak } from './verify-chain.js';

export interface SoftwareModuleOptions {
  readonly db: Sqlite;
  readonly journal: Journal;
  readonly clock: Clock;
  /** For a new data folder; generated (`ZZ` + 12 digits) when absent. */
  readonly terminalId?: string | undefined;
  /** Least time between two operations. 0 for load tests. */
  readonly minIntervalMs: number;
  readonly receiptCapacity: number;
  readonly shiftCapacity: number;
  /** How far what was paid may be from what the document comes to; `null` or absent: not compared. */
  readonly paymentToleranceTiyin?: number | null;
  /** Receives a disk failure that happened while no call was waiting for an answer. */
  readonly onFault?: (error: unknown) => void;
  /** An emulator's way to a full memory. */
  readonly isMemoryFull?: () => boolean;
}

export const MODULE_VERSION = 'SW-1.0';
/** How long an acknowledgement may wait for a document to be written with. */
const ACKNOWLEDGE_MS = 100;
/** A clock that is behind by less than this is waited for; by more, the module refuses (F-003). */
const CLOCK_TOLERANCE_MS = 2_000;
/** After the disk was full it is tried no more often than this whether there is room: a reader of the status makes it write. */
const DISK_TRIED_MS = 5_000;

/**
 * A fiscal module in software that behaves like a real one. Its memory is SQLite; what is in RAM is a copy that is
 * replaced only after the transaction that made it true.
 */
export class SoftwareFiscalModule implements port.FiscalModule {
  readonly terminalId: string;
  private readonly store: ModuleStore;
  private readonly key: KeyObject;
  private readonly rules: DocumentRules;
  private state: ModuleState;
  private shift: port.Shift | null;
  private unsent: Map<number, number>;
  private unsentZ: number[];
  private readonly chainBreak: ChainBreak | null;
  private tail: Promise<unknown> = Promise.resolve();
  /** Acknowledged documents whose unsent mark still stands on disk. */
  private readonly acknowledged = new Set<number>();
  private flushTimer: NodeJS.Timeout | null = null;
  /** When it was last tried whether there is room; `null`: what was written last found it. */
  private diskFullAtMs: number | null = null;

  constructor(private readonly options: SoftwareModuleOptions) {
    this.store = new ModuleStore(options.db);
    const identity = this.store.identity(() => ({
      terminalId: options.terminalId ?? generateTerminalId(),
      key: randomBytes(32),
    }));
    this.terminalId = identity.terminalId;
    this.key = createSecretKey(identity.key);
    this.rules = new DocumentRules(this.terminalId, options.journal, options.paymentToleranceTiyin ?? null);
    this.state = this.store.readState();
    this.shift = this.store.lastShift();
    this.unsent = this.store.unsentDocuments();
    this.unsentZ = this.store.unsentZReports();
    this.chainBreak = this.verify();
  }

  fault(): port.ModuleRefusal | null {
    if (!this.chainBreak) return null;
    const { receiptSeq, reason } = this.chainBreak;
    const made = refusal('chain_broken', { receiptSeq, chain: reason });
    const place = receiptSeq === null ? '' : `at receipt ${String(receiptSeq)}: `;
    return { ...made, message: `${made.message} (${place}${reason})` };
  }

  standingRefusal(): port.ModuleRefusal | null {
    const isOpen = this.shift?.closedMs === null;
    const standing =
      this.fault() ?? (isOpen ? this.memoryFault() : this.shiftFault()) ?? this.fuse() ?? this.clockFault();
    return standing ?? (this.isDiskStillFull() ? refusal('disk_full') : null);
  }

  info(): port.ModuleInfo {
    return {
      terminalId: this.terminalId,
      version: MODULE_VERSION,
      receiptSeq: this.state.receiptSeq,
      unsentReceipts: this.unsent.size,
      receiptCapacity: this.options.receiptCapacity,
      shiftsUsed: this.shift?.number ?? 0,
      shiftCapacity: this.options.shiftCapacity,
      sale: this.state.sale,
      refund: this.state.refund,
    };
  }

  currentShift(): port.Shift | null {
    return this.shift;
  }

  openShift(): Promise<port.OpenShiftOutcome> {
    return this.operate(
      () => {
        if (this.shift?.closedMs === null) return refusal('shift_already_open');
        return this.shiftFault();
      },
      (timeMs) => {
        const number = (this.shift?.number ?? 0) + 1;
        const state = { ...this.state, lastOperationMs: timeMs };
        this.commit(() => {
          this.store.insertShift(number, timeMs);
          this.store.writeState(state);
        });
        this.state = state;
        this.shift = {
          ...{ number, openedMs: timeMs, closedMs: null, documents: 0 },
          ...{ saleCount: 0, sale: NO_SUMS, refundCount: 0, refund: NO_SUMS },
        };
        return { kind: 'opened', shift: this.shift };
      },
    );
  }

  closeShift(): Promise<port.CloseShiftOutcome> {
    return this.operate(
      () => {
        if (this.shift?.closedMs !== null) return refusal('shift_not_open');
        return this.shift.documents === 0 ? refusal('shift_empty') : null;
      },
      (timeMs) => {
        const shift = { ...this.openShiftOrThrow(), closedMs: timeMs };
        const payload = zReportPayload(shift, tashkentCompact(shift.openedMs), {
          terminalId: this.terminalId,
          seq: shift.number,
          time: tashkentCompact(timeMs),
          prevDigest: this.store.zReport(shift.number - 1)?.digest ?? NO_DIGEST,
        });
        const state = { ...this.state, lastOperationMs: timeMs };
        this.commit(() => {
          this.store.closeShift(shift.number, timeMs, { number: shift.number, payload, digest: digestOf(payload) });
          this.store.writeState(state);
        });
        this.state = state;
        this.shift = shift;
        this.unsentZ = [...this.unsentZ, shift.number];
        return { kind: 'closed', shift };
      },
    );
  }

  register(
    document: port.FiscalDocument,
    record: (registration: port.Registration) => void,
  ): Promise<port.RegisterOutcome> {
    let counted = document;
    return this.operate(
      () => {
        counted = this.rules.asPart(document, this.state);
        return this.refusalOf(counted);
      },
      (timeMs) => {
        const registration = this.sign(counted, timeMs);
        const state = stateAfter(this.state, counted, registration);
        const shift = shiftAfter(this.openShiftOrThrow(), counted);
        // One transaction: a crash before COMMIT leaves no trace of the number, a crash after it leaves all of it.
        this.commit(() => {
          this.store.writeState(state);
          this.store.writeShift(shift);
          this.store.markUnsent(registration.seq, timeMs);
          record(registration);
        });
        this.state = state;
        this.shift = shift;
        this.unsent.set(registration.seq, timeMs);
        return { kind: 'registered', registration };
      },
    );
  }

  unsentReceipts(): number[] {
    return [...this.unsent.keys()];
  }

  oldestUnsentMs(): number | null {
    const [oldest] = this.unsent.values();
    return oldest ?? null;
  }

  acknowledgeReceipts(seqs: readonly number[]): void {
    for (const seq of seqs) if (this.unsent.delete(seq)) this.acknowledged.add(seq);
    // Written together with the next document, else a moment later: a busy register flushes the disk once per sale, not
    // twice. A crash in between makes the document unsent again; the OFD takes it by terminal and sequence.
    if (this.acknowledged.size > 0) this.flushTimer ??= setTimeout(() => this.flush(), ACKNOWLEDGE_MS);
  }

  unsentZReports(): number[] {
    return [...this.unsentZ];
  }

  zReport(shiftNumber: number): port.ZReport | null {
    return this.store.zReport(shiftNumber);
  }

  acknowledgeZReports(numbers: readonly number[]): void {
    if (numbers.length === 0) return;
    this.unsentZ = this.unsentZ.filter((number) => !numbers.includes(number));
    try {
      this.store.removeUnsent('unsent_z_reports', numbers);
    } catch (error) {
      // The shift is closed and the OFD has its report: no reason to fail the call. The next start sends it once more.
      this.options.onFault?.(error);
    }
  }

  close(): void {
    this.writeAcknowledged();
  }

  private flush(): void {
    this.flushTimer = null;
    try {
      this.writeAcknowledged();
    } catch (error) {
      // Still kept in RAM: the next document or acknowledgement tries again.
      this.options.onFault?.(error);
    }
  }

  private writeAcknowledged(): void {
    if (this.acknowledged.size > 0) this.commit(() => undefined);
  }

  /** Waits for the operation before, checks, waits for the pacing, acts. One at a time, in the order of the calls. */
  private operate<T>(
    check: () => port.ModuleRefusal | null,
    act: (timeMs: number) => T,
  ): Promise<T | port.ModuleRefusal> {
    const run = async (): Promise<T | port.ModuleRefusal> => {
      const refused = this.fault() ?? check() ?? this.fuse();
      if (refused) return refused;
      const behind = this.clockFault();
      if (behind) return behind;
      const timeMs = await this.nextOperationMs();
      return this.unlessDiskIsFull(() => act(timeMs));
    };
    const result = this.tail.then(run);
    this.tail = result.catch(() => undefined);
    return result;
  }

  /** Every operation writes its time: where the state was read back, and has the one of before, nothing was done, which the caller may know. */
  private unlessDiskIsFull<T>(act: () => T): T | port.ModuleRefusal {
    const before = this.state;
    try {
      const done = act();
      this.diskFullAtMs = null;
      return done;
    } catch (error) {
      const isReadBack = this.state !== before;
      if (!isDiskFull(error) || !isReadBack || this.state.lastOperationMs !== before.lastOperationMs) throw error;
      this.options.onFault?.(error);
      this.diskFullAtMs = this.options.clock.monotonicMs();
      return refusal('disk_full');
    }
  }

  /** Nothing is sold meanwhile that would show it: as much is written as a large document takes, and taken away again. */
  private isDiskStillFull(): boolean {
    const nowMs = this.options.clock.monotonicMs();
    if (this.diskFullAtMs === null || nowMs - this.diskFullAtMs < DISK_TRIED_MS) return this.diskFullAtMs !== null;
    this.diskFullAtMs = nowMs;
    try {
      this.store.tryRoom();
      this.diskFullAtMs = null;
    } catch (error) {
      if (!isDiskFull(error)) this.options.onFault?.(error);
    }
    return this.diskFullAtMs !== null;
  }

  private shiftFault(): port.ModuleRefusal | null {
    return (this.shift?.number ?? 0) >= this.options.shiftCapacity ? refusal('shift_memory_full') : null;
  }

  private memoryFault(): port.ModuleRefusal | null {
    return this.unsent.size >= this.options.receiptCapacity ? refusal('memory_full') : null;
  }

  private clockFault(): port.ModuleRefusal | null {
    const { lastOperationMs } = this.state;
    const isBehind = this.options.clock.now().getTime() < lastOperationMs - CLOCK_TOLERANCE_MS;
    return isBehind ? refusal('clock_behind', { lastOperationMs }) : null;
  }

  private fuse(): port.ModuleRefusal | null {
    const oldestMs = this.oldestUnsentMs();
    if (oldestMs === null || this.options.clock.now().getTime() - oldestMs < OFD_FUSE_MS) return null;
    return refusal('unsent_too_old', { oldestUnsent: new Date(oldestMs).toISOString() });
  }

  private refusalOf(document: port.FiscalDocument): port.ModuleRefusal | null {
    if (this.shift?.closedMs !== null) return refusal('shift_not_open');
    if (this.shift.documents >= SHIFT_DOCUMENT_LIMIT) return refusal('shift_full');
    const unpaid = this.rules.paymentMismatch(document);
    if (unpaid) return unpaid;
    const full = this.options.isMemoryFull?.() === true ? refusal('memory_full') : this.memoryFault();
    return full ?? this.rules.sumsMismatch(document, this.state);
  }

  /** `null` when the clock is behind the last operation by more than a moment. */
  private async nextOperationMs(): Promise<number> {
    const nowMs = this.options.clock.now().getTime();
    const earliestMs = this.state.lastOperationMs + this.options.minIntervalMs;
    if (nowMs < earliestMs) await sleep(earliestMs - nowMs);
    return Math.max(nowMs, earliestMs);
  }

  private sign(document: port.FiscalDocument, timeMs: number): port.Registration {
    const seq = this.state.receiptSeq + 1;
    const place = {
      terminalId: this.terminalId,
      seq,
      time: tashkentCompact(timeMs),
      prevDigest: this.state.lastDigest,
    };
    const payload = documentPayload(document, place, this.openShiftOrThrow().number);
    const digest = digestOf(payload);
    const sign = isSigned(document.type) ? signOf(this.key, digest, this.state.lastSign) : null;
    return { terminalId: this.terminalId, seq, timeMs, payload, digest, sign };
  }

  private openShiftOrThrow(): port.Shift {
    if (this.shift?.closedMs !== null) throw new Error('No shift is open');
    return this.shift;
  }

  /** After a failed COMMIT the content of the disk is unknown: read it again, so that RAM never runs ahead of it. */
  private commit(write: () => void): void {
    const sent = [...this.acknowledged];
    try {
      inTransaction(this.options.db, () => {
        write();
        if (sent.length > 0) this.store.removeUnsent('unsent_documents', sent);
      });
    } catch (error) {
      this.state = this.store.readState();
      this.shift = this.store.lastShift();
      this.unsent = this.store.unsentDocuments();
      this.unsentZ = this.store.unsentZReports();
      for (const seq of sent) this.unsent.delete(seq);
      throw error;
    }
    this.acknowledged.clear();
    if (this.flushTimer) clearTimeout(this.flushTimer);
    this.flushTimer = null;
  }

  private verify(): ChainBreak | null {
    return verifyChain(this.options.journal.entries(), {
      terminalId: this.terminalId,
      key: this.key,
      state: this.state,
      shifts: this.store.shifts(),
      unsentSeqs: this.unsent.keys(),
      unsentShifts: this.unsentZ,
    });
  }
}

/** A test module's id: `ZZ` + 12 digits. */
export function generateTerminalId(): string {
  return `ZZ${String(randomInt(10 ** 6)).padStart(6, '0')}${String(randomInt(10 ** 6)).padStart(6, '0')}`;
}
