import { createLogger } from '#runtime';
import { DEFAULT_PROFILE, type DeviceProfile } from '#fiscal-domain';
import { Chance, Trace } from './chance.js';
import { DatabaseServer } from './database-client.js';
import { documentOf } from './documents.js';
import type { ReceiptRow } from './ledger-rows.js';
import { Ledger } from './gateway-ledger.js';
import { Promises } from './promises.js';
import { SimulatedLine, type Scripted } from './register-line.js';
import { RegisterModel, type RegisterKind } from './register-model.js';
import { SimulatedRelay } from './relay.js';
import { SimulatedSpool } from './spool.js';
import { VirtualTime } from './virtual-time.js';

const PLAIN: RegisterKind = {
  ...{ keyed: false, phone: false, lagMs: 1, sequenceOffset: 0, tiyinPerUnit: 1 },
  worstWorkMs: 90_000,
};
const NO_FAULTS = { lostRequest: 0, lostAnswer: 0, lateRequest: 0, lateAnswer: 0, oddAnswer: 0, refusedConnection: 0 };

/** The simulated world without chance: one thing goes wrong, and the test says what and when. */
export class Stage {
  readonly time = new VirtualTime();
  readonly trace = new Trace();
  readonly promises = new Promises(this.time, this.trace);
  readonly ledger = new Ledger(this.time, this.promises, this.trace);
  readonly chance = new Chance(1);
  readonly server: DatabaseServer;
  readonly relays: SimulatedRelay[] = [];
  /** What happens to the next receipts on their way; the rest arrives. */
  readonly script: Scripted[] = [];
  private readonly spool = new SimulatedSpool();
  private readonly registers = new Map<string, RegisterModel>();
  private receipts = 0;

  constructor(relays = 1) {
    const faults = { lostStatement: 0, lostCommit: 0, lateCommit: 0, slow: 0 };
    this.server = new DatabaseServer(this.time, this.chance, this.ledger, faults);
    for (let count = 1; count <= relays; count += 1) this.relays.push(this.newRelay(`rly-${count}`));
  }

  addDevice(id: string, kind: Partial<RegisterKind>, profile: Partial<DeviceProfile> = {}): RegisterModel {
    const register = new RegisterModel(
      id,
      { ...PLAIN, ...kind },
      {
        ...{ time: this.time, chance: this.chance },
        appended: (receiptId, { terminalId, seq, attemptId }) => {
          const receipt = this.receipt(receiptId);
          const { keyed } = register.kind;
          this.promises.appended({ receiptId, deviceId: id, terminalId, seq }, receipt, { attemptId, keyed });
        },
      },
    );
    this.registers.set(id, register);
    const row = { ...DEFAULT_PROFILE, pacingMs: 0, ...profile };
    const device = { id, state: 'online' as const, profile: row, terminalId: null, journalId: null };
    this.ledger.addDevice({ ...device, keyed: register.kind.keyed }, this.registers.size);
    return register;
  }

  /** @returns the receipt, of which the first relay is notified at once */
  accept(deviceId: string): ReceiptRow {
    this.receipts += 1;
    const id = `rcp-${this.receipts}`;
    const receipt: ReceiptRow = {
      ...{ id, deviceId, place: this.receipts, status: 'accepted', document: documentOf(id, this.chance) },
      ...{ updatedAtMs: this.time.nowMs, openAttemptId: null, terminalId: null, receiptSeq: null, fiscalSign: null },
      sentAgainByOperator: false,
      attempts: [],
    };
    this.ledger.accept(receipt);
    this.relays[0]!.wake(deviceId);
    return receipt;
  }

  receipt(id: string): ReceiptRow {
    return this.ledger.receipts.get(id)!;
  }

  /** An operator parks what is open on dev-1. */
  park(options: { mustSettle: boolean }): void {
    const { id, receiptId, baseline } = this.ledger.openAttemptOf('dev-1')!;
    this.ledger.closeUnknown({ attemptId: id, receiptId }, { baseline, why: 'parked' }, options);
  }

  attemptsOf(deviceId: string): number {
    return [...this.ledger.attempts.values()].filter((attempt) => attempt.deviceId === deviceId).length;
  }

  at(ms: number, run: () => void): void {
    this.time.after(ms - this.time.nowMs, run);
  }

  /** What the ledger did, for expectations about the way and not only the end. */
  happened(line: string): boolean {
    return this.trace.tail([line]).length > 0;
  }

  async runFor(seconds: number): Promise<void> {
    const end = this.time.nowMs + seconds * 1_000;
    let isOver = false;
    this.time.after(seconds * 1_000, () => {
      isOver = true;
    });
    await this.time.run(() => isOver || this.time.nowMs > end);
  }

  private newRelay(id: string): SimulatedRelay {
    const { time, chance, ledger } = this;
    return new SimulatedRelay(id, {
      server: this.server,
      logger: createLogger('stage', 'silent'),
      registersOf: (caller) => ({
        of: (device) =>
          new SimulatedLine(caller, this.registers.get(device.id)!, device, {
            ...{ time, chance, faults: NO_FAULTS, script: this.script, count: () => undefined },
            openAttemptOf: (deviceId) => ledger.openAttemptOf(deviceId)?.id ?? 'none',
          }),
      }),
      ringAgain: (deviceId) => time.after(1, () => this.relays[0]!.wake(deviceId)),
      onCall: () => undefined,
      spool: this.spool,
    });
  }
}
