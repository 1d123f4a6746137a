import {
  OFD_FUSE_MS,
  tashkentDateTime,
  tashkentIsoBasic,
  vatContained,
  type CurrentZReport,
  type ResendError,
  type ResendResult,
} from '#fiscal-domain';
import type { CallAnswer, Register } from '../devices/register.js';

/** Time that the test owns. */
export interface TestTime {
  nowMs: number;
}

export interface ShopSale {
  receiptSeq: number;
  isSent: boolean;
  vatTiyin: number;
}

interface ModelShift {
  number: number;
  openedMs: number;
  closedMs: number | null;
  cash: number;
  vat: number;
  count: number;
  /** Documents that stand in no total. */
  advances: number;
}

/** A register in a shop, as the watch sees it: shift, unsent documents with their fuse, Z-reports, an OFD that may be away. */
export class ShopRegister implements Register {
  ofdDown = false;
  /** Answers nothing. */
  asleep = false;
  activated = true;
  /** The next close happens, and its answer is lost. */
  losesCloseAnswer = false;
  /** Never calls of the watch: /receipts belongs to the lane. */
  readonly calls: string[] = [];
  readonly zReports: CurrentZReport[] = [];
  subscriptionExpiresAt = '2099-12-31T00:00:00.000Z';
  capabilities = ['idempotency', 'journal'];
  /** Null: it does not say. */
  classifierVersion: number | null = null;
  shift: ModelShift | null = null;
  terminalId: string;
  private sequence = 0;
  private readonly unsent = new Map<number, number>();
  private unsentZ: number[] = [];
  private readonly soldAt = new Map<number, number>();

  constructor(
    readonly deviceId: string,
    private readonly time: TestTime,
    private readonly maxUnsent = 1_000,
  ) {
    this.terminalId = `UZ-${deviceId}`;
  }

  get unsentCount(): number {
    return this.unsent.size;
  }

  get unsentZCount(): number {
    return this.unsentZ.length;
  }

  /** What the lane would do: open on demand, register, try the OFD. Throws when the module would refuse. */
  sell(cashTiyin: number): ShopSale {
    if (this.shift?.closedMs !== null) this.open();
    const [oldest] = this.unsent.values();
    if (oldest !== undefined && this.time.nowMs - oldest >= OFD_FUSE_MS) throw new Error('F-003: the fuse has blown');
    if (this.unsent.size >= this.maxUnsent) throw new Error('F-003: memory full');
    this.sequence += 1;
    const vatTiyin = vatContained(cashTiyin, 12);
    const shift = this.openShiftOrThrow();
    shift.cash += cashTiyin;
    shift.vat += vatTiyin;
    shift.count += 1;
    if (this.ofdDown) this.unsent.set(this.sequence, this.time.nowMs);
    this.soldAt.set(this.sequence, this.time.nowMs);
    return { receiptSeq: this.sequence, isSent: !this.ofdDown, vatTiyin };
  }

  /** As its folder was so many documents ago. */
  putBack(documents: number): void {
    for (let each = 0; each < documents; each += 1) {
      this.soldAt.delete(this.sequence);
      this.unsent.delete(this.sequence);
      this.sequence -= 1;
    }
  }

  /** An advance is a document of the module and stands in no total. */
  advance(): number {
    if (this.shift?.closedMs !== null) this.open();
    this.sequence += 1;
    this.openShiftOrThrow().advances += 1;
    return this.sequence;
  }

  open(): void {
    const number = (this.shift?.number ?? 0) + 1;
    this.shift = { number, openedMs: this.time.nowMs, closedMs: null, cash: 0, vat: 0, count: 0, advances: 0 };
  }

  status(): ReturnType<Register['status']> {
    return this.answer('status', () => ({
      ...{ app: 'shop', version: '1', systemVersion: '1', port: 1, fmInitialized: true, activated: this.activated },
      ...{ subscriptionState: 'active' as const, capabilities: this.capabilities, journalId: this.terminalId },
    }));
  }

  async fmInfo(): ReturnType<Register['fmInfo']> {
    const info = await this.answer('fm/info', () => ({
      ...{ terminalId: this.terminalId, version: '1', type: 1, receiptCount: this.unsent.size },
      ...{ receiptMaxCount: this.maxUnsent, zreportCount: this.shift?.number ?? 0, zreportMaxCount: 832 },
      ...{ currentReceiptSeq: this.sequence, AccumulatedSaleCash: 0, AccumulatedSaleCard: 0, AccumulatedSaleVAT: 0 },
      ...{ AccumulatedRefundCash: 0, AccumulatedRefundCard: 0, AccumulatedRefundVAT: 0 },
    }));
    const headers = {
      'x-subscription-expires-at': this.subscriptionExpiresAt,
      ...(this.classifierVersion !== null && { 'x-classifier-version': String(this.classifierVersion) }),
    };
    return info.kind === 'ok' ? { ...info, headers } : info;
  }

  business(): ReturnType<Register['business']> {
    const address = { legal_address: 'Toshkent', actual_address: 'Toshkent', has_warehouse_system: false };
    return this.answer('business', () => ({
      success: true,
      business: { name: 'Shop', phone: '998', tin: '300000000', ...address },
    }));
  }

  branch(): ReturnType<Register['branch']> {
    return this.answer('branch', () => ({ success: true, branch: { _id: 'b', address: 'Toshkent' } }));
  }

  async openShift(): ReturnType<Register['openShift']> {
    if (this.shift?.closedMs === null) return refused('F-005');
    return this.answer('open', () => {
      this.open();
      return { success: true };
    });
  }

  async closeShift(): ReturnType<Register['closeShift']> {
    if (this.asleep) return SILENT;
    this.calls.push('close');
    if (this.shift?.closedMs !== null) return refused('F-002');
    if (this.shift.count + this.shift.advances === 0) return refused('F-005');
    this.shift.closedMs = this.time.nowMs;
    this.zReports.push(this.report(this.shift));
    if (this.ofdDown) this.unsentZ.push(this.shift.number);
    if (this.losesCloseAnswer) {
      this.losesCloseAnswer = false;
      return { kind: 'unclear', reason: 'timeout' };
    }
    const zReport = { number: this.shift.number, closeTime: tashkentIsoBasic(this.time.nowMs) };
    return Promise.resolve({ kind: 'ok', value: { success: true, zReport, ofdSent: !this.ofdDown } });
  }

  async currentZReport(): ReturnType<Register['currentZReport']> {
    const { shift } = this;
    return shift === null ? refused('F-002') : this.answer('current', () => this.report(shift));
  }

  zReportStats(): ReturnType<Register['zReportStats']> {
    return this.answer('stats', () => ({
      totalClosed: this.zReports.length,
      totalUnacked: this.unsentZ.length,
      unackedNumbers: [...this.unsentZ],
    }));
  }

  sendUnsentReceipts(): ReturnType<Register['sendUnsentReceipts']> {
    return this.answer('send-unsent', () => {
      const before = [...this.unsent.keys()];
      if (!this.ofdDown) this.unsent.clear();
      return resent(
        before.length,
        [...this.unsent.keys()].map((receiptSeq) => ({ receiptSeq, ...T001 })),
      );
    });
  }

  sendUnsentZReports(): ReturnType<Register['sendUnsentZReports']> {
    return this.answer('send-unsent-z', () => {
      const before = this.unsentZ.length;
      if (!this.ofdDown) this.unsentZ = [];
      return resent(
        before,
        this.unsentZ.map((number) => ({ number, ...T001 })),
      );
    });
  }

  findBySeq(seq: number): ReturnType<Register['findBySeq']> {
    const transactionTime = this.soldAt.get(seq);
    if (transactionTime === undefined) return Promise.resolve({ kind: 'refused', code: 'S-002', message: 'not there' });
    const receipt = { terminalId: this.terminalId, receiptSeq: seq, fiscalSign: '1', qrUrl: 'q', transactionTime };
    return this.answer('find', () => ({ success: true, receipt, receiptHtml: '', ofdSent: true }));
  }

  prepareReceipt(): ReturnType<Register['prepareReceipt']> {
    throw new Error('the watch never sends a receipt');
  }

  private report({ number, openedMs, closedMs, cash, vat, count }: ModelShift): CurrentZReport {
    const closeTime = closedMs === null ? '' : tashkentDateTime(closedMs);
    return {
      Header: {
        TerminalID: this.terminalId,
        Number: number,
        OpenTime: tashkentDateTime(openedMs),
        CloseTime: closeTime,
      },
      ...{ TotalSaleCash: cash, TotalSaleCard: 0, TotalSaleVAT: vat, TotalSaleCount: count },
      ...{ TotalRefundCash: 0, TotalRefundCard: 0, TotalRefundVAT: 0, TotalRefundCount: 0 },
    };
  }

  private answer<T>(call: string, value: () => T): Promise<CallAnswer<T>> {
    if (this.asleep) return Promise.resolve(SILENT);
    this.calls.push(call);
    return Promise.resolve({ kind: 'ok', value: value() });
  }

  private openShiftOrThrow(): ModelShift {
    if (this.shift?.closedMs !== null) throw new Error('F-002');
    return this.shift;
  }
}

const SILENT = { kind: 'unreachable', reason: 'asleep' } as const;
const T001 = { code: 'T-001', message: 'all OFD servers failed' };

function refused(code: string): { kind: 'refused'; code: string; message: string } {
  return { kind: 'refused', code, message: 'refused by the model' };
}

function resent(total: number, errors: ResendError[]): ResendResult {
  return { success: errors.length === 0, total, sent: total - errors.length, failed: errors.length, errors };
}
