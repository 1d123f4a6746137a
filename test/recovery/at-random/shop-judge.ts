import type { LocalReceiptRequest } from '#fiscal-domain';

/** A document in a fiscal module. */
export interface Document {
  deviceId: string;
  terminalId: string;
  seq: number;
}

/** Knows what really stands in every fiscal module, whatever the database was put back to. */
export class ShopJudge {
  readonly broken: string[] = [];
  private readonly documents = new Map<string, Document[]>();
  private readonly trail: string[] = [];

  note(line: string): void {
    this.trail.push(line);
  }

  appended(receiptId: string, document: Document, { type, refundInfo }: LocalReceiptRequest): void {
    const known = this.documents.get(receiptId) ?? [];
    this.documents.set(receiptId, [...known, document]);
    this.note(`${receiptId} registered by ${document.deviceId} as ${document.terminalId}/${document.seq}`);
    if (known.length > 0) this.breaks(`${receiptId} is registered twice`, receiptId);
    if (type === 'refund' && refundInfo?.terminalId !== document.terminalId)
      this.breaks(`${receiptId} refunds in another module than ${String(refundInfo?.terminalId)}`, receiptId);
  }

  documentOf(receiptId: string): Document | null {
    return this.documents.get(receiptId)?.[0] ?? null;
  }

  /** A receipt at the end of everything. */
  judge(receipt: { id: string; status: string; terminal_id: string | null; receipt_seq: string | null }): void {
    const { id, status } = receipt;
    const document = this.documentOf(id);
    if (status === 'registered') {
      const isTrue = document?.terminalId === receipt.terminal_id && document?.seq === Number(receipt.receipt_seq);
      if (!isTrue) this.breaks(`${id} is called registered as ${receipt.terminal_id}/${receipt.receipt_seq}`, id);
    } else if ((status === 'cancelled' || status === 'rejected') && document) {
      this.breaks(`${id} is ${status}, and a register has it`, id);
    }
  }

  breaks(what: string, receiptId?: string): void {
    this.broken.push(what);
    if (this.broken.length > 1) return;
    const isOfAll = (line: string): boolean => !line.includes('rcp_');
    this.broken.push(
      ...this.trail.filter((line) => receiptId === undefined || line.includes(receiptId) || isOfAll(line)).slice(-150),
    );
  }
}
