import {
  buildVerificationLink,
  vatContained,
  type FmInfo,
  type LocalReceiptRequest,
  type LocalStatus,
  type RegisterAnswer,
  type SaleResponse,
} from '#fiscal-domain';
import type { Chance } from './chance.js';
import type { VirtualTime } from './virtual-time.js';

export interface RegisterKind {
  /** Our own register: idempotency keys and journal. Otherwise only what the specification asks for. */
  keyed: boolean;
  /** Dozes, and works off what waits in its backlog when it wakes. */
  phone: boolean;
  /** What its `currentReceiptSeq` means: sequence of the last document + this. */
  sequenceOffset: number;
  /** Longest time of one message on its way, milliseconds. */
  lagMs: number;
  /** Unit of its accumulated sums, tiyin. */
  tiyinPerUnit: number;
  /** Longest time that a request may need while the register is awake, milliseconds: below its settle time. */
  worstWorkMs: number;
}

interface Stored {
  terminalId: string;
  receiptSeq: number;
  transactionTime: number;
}

/** A document that was just made for one of our requests. */
export interface Appended {
  terminalId: string;
  seq: number;
  attemptId: string;
  /** The key of the request, also where the register knows none. */
  key: string;
  request: LocalReceiptRequest;
}

interface Sums {
  cash: number;
  card: number;
  vat: number;
}

/** The register's program with its fiscal module: what it answers and what it stores, not how that gets there. */
export class RegisterModel {
  shiftOpen = true;
  /** A code with which it refuses every fiscal call. */
  refusesWith: string | null = null;
  /** Whether a refusing register does not say its counters either. */
  isMuteWhenRefusing = false;
  refusesToOpenShift = false;
  /** A code with which it answers the next receipt that its module has registered. */
  failsAfterNext: string | null = null;
  ofdDown = false;
  /** The next receipt does not arrive. */
  losesNext = false;
  /** Fiscal modules so far; the program starts anew with each. */
  modules = 0;
  private terminalId = '';
  private journalId = '';
  private sequence = 0;
  private keys = new Map<string, Stored>();
  private documents = new Map<number, Stored>();
  private sale: Sums = { cash: 0, card: 0, vat: 0 };
  private refund: Sums = { cash: 0, card: 0, vat: 0 };
  private awakeMs = 0;
  private awakeSinceMs: number | null = 0;
  private wakers: (() => void)[] = [];

  constructor(
    readonly deviceId: string,
    readonly kind: RegisterKind,
    private readonly world: {
      time: VirtualTime;
      chance: Chance;
      /** @param receiptId by the name of the first line */
      appended: (receiptId: string, entry: Appended) => void;
    },
  ) {
    this.replaceModule();
  }

  get asleep(): boolean {
    return this.awakeSinceMs === null;
  }

  /**
   * Another fiscal module with another terminal. The program starts anew for it: requests that waited on its connections
   * are gone with them.
   */
  replaceModule(): void {
    this.modules += 1;
    this.wakers = [];
    this.terminalId = `UZ${this.deviceId.slice(4).padStart(6, '0')}${String(this.modules).padStart(6, '0')}`;
    this.journalId = `journal-${this.deviceId}-${this.modules}`;
    // A module of which others have sold before.
    this.sequence = Math.floor(this.world.chance.between(0, 500));
    this.keys = new Map();
    this.documents = new Map();
    this.sale = { cash: 0, card: 0, vat: 0 };
    this.refund = { cash: 0, card: 0, vat: 0 };
  }

  /** As a copy of its folder has it: terminal and journal keep their names. @returns what puts it back */
  copy(): () => void {
    const { terminalId, journalId, sequence } = this;
    const [keys, documents] = [new Map(this.keys), new Map(this.documents)];
    const [sale, refund] = [{ ...this.sale }, { ...this.refund }];
    return () => {
      // The program starts anew, and with it go its connections.
      this.modules += 1;
      this.wakers = [];
      Object.assign(this, { terminalId, journalId, sequence, keys, documents, sale, refund });
    };
  }

  sleep(): void {
    if (this.awakeSinceMs === null) return;
    this.awakeMs += this.world.time.nowMs - this.awakeSinceMs;
    this.awakeSinceMs = null;
  }

  wake(): void {
    if (this.awakeSinceMs !== null) return;
    this.awakeSinceMs = this.world.time.nowMs;
    const { wakers } = this;
    this.wakers = [];
    for (const wakeUp of wakers) wakeUp();
  }

  /** Runs after so much time in which it was awake. */
  whenAwakeFor(ms: number, run: () => void): void {
    const goal = this.awakeClock() + ms;
    const { modules } = this;
    const check = (): void => {
      if (modules !== this.modules) return;
      if (this.awakeSinceMs === null) {
        this.wakers.push(check);
        return;
      }
      const leftMs = goal - this.awakeClock();
      if (leftMs > 0.001) this.world.time.after(leftMs, check);
      else run();
    };
    check();
  }

  status(): LocalStatus {
    return {
      ...{ app: 'simulated', version: '1', systemVersion: '1', port: 0 },
      fmInitialized: this.refusesWith !== 'F-001',
      activated: this.refusesWith !== 'E-001',
      subscriptionState: this.refusesWith === 'E-002' ? 'expired' : 'active',
      ...(this.kind.keyed && { capabilities: ['idempotency', 'journal'], journalId: this.journalId }),
    };
  }

  fmInfo(): FmInfo {
    const { sale, refund } = this;
    return {
      ...{
        terminalId: this.terminalId,
        version: '1',
        type: 1,
        receiptCount: this.ofdDown ? 7 : 0,
        receiptMaxCount: 5_000,
      },
      ...{ zreportCount: 1, zreportMaxCount: 900, currentReceiptSeq: this.sequence + this.kind.sequenceOffset },
      ...{ AccumulatedSaleCash: sale.cash, AccumulatedSaleCard: sale.card, AccumulatedSaleVAT: sale.vat },
      ...{ AccumulatedRefundCash: refund.cash, AccumulatedRefundCard: refund.card, AccumulatedRefundVAT: refund.vat },
    };
  }

  findBySeq(seq: number): SaleResponse | null {
    const stored = this.documents.get(seq);
    return stored ? this.responseOf(stored) : null;
  }

  findByKey(key: string): SaleResponse | null {
    const stored = this.keys.get(key);
    return stored ? this.responseOf(stored) : null;
  }

  /** The moment at which a request is worked on: it registers, or it refuses. */
  process(body: Buffer, { key, attemptId }: { key: string; attemptId: string }): RegisterAnswer {
    const stored = this.kind.keyed ? this.keys.get(key) : undefined;
    if (stored) return this.answerWith(stored);
    if (this.refusesWith) return refusal(this.refusesWith);
    if (!this.shiftOpen) return refusal('F-002');
    const request = JSON.parse(body.toString()) as LocalReceiptRequest;
    const receiptId = request.items[0]!.name;
    if (receiptId.endsWith(REFUSED_DOCUMENT)) return refusal('E-013');
    const registered = this.append(request);
    if (this.kind.keyed) this.keys.set(key, registered);
    const { terminalId, receiptSeq: seq } = registered;
    this.world.appended(receiptId, { terminalId, seq, attemptId, key, request });
    const failure = this.failsAfterNext;
    this.failsAfterNext = null;
    return failure === null ? this.answerWith(registered) : refusal(failure);
  }

  /** Another seller: a cashier on the same register. */
  sellForeign(request: LocalReceiptRequest): void {
    this.append(request);
  }

  private append(request: LocalReceiptRequest): Stored {
    this.sequence += 1;
    const into = request.type === 'refund' ? this.refund : this.sale;
    into.cash += this.counted(request.received.cash);
    into.card += this.counted(request.received.card);
    const vat = request.items.reduce(
      (sum, item) => sum + vatContained((item.price * item.amount) / 1_000 - (item.discount ?? 0), item.vatPercent),
      0,
    );
    // Modules round each line in their own way.
    const off = vat > 0 && this.kind.tiyinPerUnit === 1 ? Math.round(this.world.chance.between(-1, 1)) : 0;
    into.vat += this.counted(vat + off);
    const { terminalId, sequence: receiptSeq } = this;
    const stored = { terminalId, receiptSeq, transactionTime: this.world.time.nowMs };
    this.documents.set(receiptSeq, stored);
    return stored;
  }

  private counted(tiyin: number): number {
    return Math.round(tiyin / this.kind.tiyinPerUnit);
  }

  private answerWith(stored: Stored): RegisterAnswer {
    return { kind: 'registered', httpStatus: 200, response: this.responseOf(stored) };
  }

  private responseOf({ terminalId, receiptSeq, transactionTime }: Stored): SaleResponse {
    const compactTime = '20260101120000';
    const fiscalSign = String(receiptSeq).padStart(12, '0');
    const qrUrl = buildVerificationLink('https://ofd.example/check', {
      terminalId,
      receiptSeq,
      fiscalSign,
      compactTime,
    });
    const receipt = { terminalId, receiptSeq, fiscalSign, qrUrl, transactionTime };
    return { success: true, receipt, receiptHtml: '', ofdSent: !this.ofdDown };
  }

  private awakeClock(): number {
    return this.awakeMs + (this.awakeSinceMs === null ? 0 : this.world.time.nowMs - this.awakeSinceMs);
  }
}

/** A document whose name ends so is refused by every register. */
export const REFUSED_DOCUMENT = '-bad';

function refusal(code: string): RegisterAnswer {
  return { kind: 'refused', httpStatus: 400, code, message: 'simulated' };
}
