import type { Prisma } from '#database';
import {
  FISCAL_FIELDS,
  tashkentDateTime,
  tashkentIsoBasic,
  type CurrentZReport,
  type FmInfo,
  type LocalStatus,
  type ResendResult,
  type ZReportStats,
} from '#fiscal-domain';
import { refusedByModule } from '#fiscal-module';
import type { Logger } from '#runtime';
import { closeShift, openShift } from './emulated-module.js';
import { EmulatedSales, keptResponse, refused, type EmulatedAnswer, type EmulatedSale } from './emulated-sale.js';
import type { EmulatedStore, KeptDocument, LockedRegister } from './emulated-store.js';

export interface EmulatedCall {
  method: 'GET' | 'POST';
  path: string;
  sale: EmulatedSale;
}

/** What one that never fills up says of its memory. */
const CAPACITY = { receipts: 100_000, shifts: 100_000 };

type Tx = Prisma.TransactionClient;

/** The local API of the emulated registers: the calls of the specification and our extensions, one at a time to each register. */
export class EmulatedRegisters {
  private readonly sales: EmulatedSales;

  constructor(
    readonly store: EmulatedStore,
    readonly logger: Logger,
  ) {
    this.sales = new EmulatedSales(store);
  }

  /** Null: there is no such register, or it is away. */
  call(deviceId: string, call: EmulatedCall): Promise<EmulatedAnswer | null> {
    return this.store.locked(deviceId, (tx, register) =>
      register.isOffline ? Promise.resolve(null) : this.answer(tx, deviceId, register, call),
    );
  }

  private async answer(
    tx: Tx,
    deviceId: string,
    known: LockedRegister,
    call: EmulatedCall,
  ): Promise<EmulatedAnswer | null> {
    switch (`${call.method} ${call.path}`) {
      case 'GET /status':
        return ok(statusOf(known));
      case 'GET /fm/info':
        return ok(infoOf(known, await this.store.unsentCount(tx, deviceId)));
      case 'GET /business':
        return ok(businessOf(known));
      case 'GET /branch':
        return ok({ success: true, branch: { _id: known.branch.id, address: known.branch.address } });
      case 'POST /receipts':
        return this.sales.execute(tx, deviceId, known, call.sale);
      case 'POST /receipts/send-unsent':
        return ok(await this.resend(tx, deviceId));
      case 'POST /z-report/send-unsent':
        return ok({ success: true, total: 0, sent: 0, failed: 0, errors: [] } satisfies ResendResult);
      case 'POST /z-report/open':
        return this.openShift(tx, deviceId, known);
      case 'POST /z-report/close':
        return this.closeShift(tx, deviceId, known);
      case 'GET /z-report/current':
        return currentZReport(known);
      case 'GET /z-report/stats':
        return ok(statsOf(known));
      default:
        return this.find(tx, deviceId, call);
    }
  }

  private async resend(tx: Tx, deviceId: string): Promise<ResendResult> {
    const { sent, left } = await this.store.resend(tx, deviceId);
    const errors = left.map((receiptSeq) => ({ receiptSeq, code: 'T-001', message: 'the sandbox keeps the OFD away' }));
    return { success: left.length === 0, total: sent + left.length, sent, failed: left.length, errors };
  }

  private async openShift(tx: Tx, deviceId: string, { state, now }: LockedRegister): Promise<EmulatedAnswer> {
    const opened = openShift(state, now.getTime());
    if (opened.kind === 'refused') return refused(refusedByModule(opened));
    await this.store.saveState(tx, deviceId, opened.state);
    return ok({ success: true });
  }

  private async closeShift(tx: Tx, deviceId: string, { state, now }: LockedRegister): Promise<EmulatedAnswer> {
    const closed = closeShift(state, now.getTime());
    if (closed.kind === 'refused') return refused(refusedByModule(closed));
    await this.store.saveState(tx, deviceId, closed.state);
    const zReport = { number: closed.value.number, closeTime: tashkentIsoBasic(now.getTime()) };
    return ok({ success: true, zReport, ofdSent: true });
  }

  private async find(tx: Tx, deviceId: string, { method, path }: EmulatedCall): Promise<EmulatedAnswer> {
    const url = new URL(path, 'http://register.invalid');
    const key = url.pathname === '/receipts' ? url.searchParams.get('key') : null;
    const seq = /^\/receipts\/([1-9]\d{0,14})$/.exec(url.pathname)?.[1];
    let found: KeptDocument | null = null;
    if (method === 'GET' && key !== null) found = await this.store.find(tx, deviceId, { key });
    else if (method === 'GET' && seq !== undefined) found = await this.store.find(tx, deviceId, { seq: Number(seq) });
    return found
      ? ok(keptResponse(found))
      : refused({ kind: 'refused', code: 'S-002', message: 'an emulated register has nothing there' });
  }
}

function ok(body: unknown): EmulatedAnswer {
  return { kind: 'answered', status: 200, body };
}

function statusOf({ journalId }: LockedRegister): LocalStatus {
  return {
    ...{ app: 'Sandbox register', version: '1.0.0', systemVersion: 'sandbox', port: 0 },
    ...{ fmInitialized: true, activated: true, subscriptionState: 'active' as const },
    capabilities: ['idempotency', 'journal', ...FISCAL_FIELDS],
    journalId,
  };
}

function infoOf({ terminalId, state }: LockedRegister, receiptCount: number): FmInfo {
  const { sale, refund, shift, receiptSeq } = state;
  return {
    ...{ terminalId, version: 'SANDBOX', type: 1, receiptCount, receiptMaxCount: CAPACITY.receipts },
    ...{ zreportCount: shift?.number ?? 0, zreportMaxCount: CAPACITY.shifts, currentReceiptSeq: receiptSeq },
    ...{ AccumulatedSaleCash: sale.cash, AccumulatedSaleCard: sale.card, AccumulatedSaleVAT: sale.vat },
    ...{ AccumulatedRefundCash: refund.cash, AccumulatedRefundCard: refund.card, AccumulatedRefundVAT: refund.vat },
  };
}

function businessOf({ merchant: { name, tin }, branch: { address } }: LockedRegister): unknown {
  const business = {
    name,
    tin,
    phone: '',
    legal_address: address,
    actual_address: address,
    has_warehouse_system: false,
  };
  return { success: true, business };
}

function currentZReport({ terminalId, state: { shift } }: LockedRegister): EmulatedAnswer {
  if (!shift) return refused({ kind: 'refused', code: 'F-002', message: 'No shift was ever opened' });
  return ok({
    Header: {
      TerminalID: terminalId,
      Number: shift.number,
      OpenTime: tashkentDateTime(shift.openedMs),
      CloseTime: shift.closedMs === null ? '' : tashkentDateTime(shift.closedMs),
    },
    ...{ TotalSaleCash: shift.sale.cash, TotalSaleCard: shift.sale.card, TotalSaleVAT: shift.sale.vat },
    ...{ TotalRefundCash: shift.refund.cash, TotalRefundCard: shift.refund.card, TotalRefundVAT: shift.refund.vat },
    ...{ TotalSaleCount: shift.saleCount, TotalRefundCount: shift.refundCount },
  } satisfies CurrentZReport);
}

function statsOf({ state: { shift } }: LockedRegister): ZReportStats {
  const opened = shift?.number ?? 0;
  return { totalClosed: shift?.closedMs === null ? opened - 1 : opened, totalUnacked: 0, unackedNumbers: [] };
}
