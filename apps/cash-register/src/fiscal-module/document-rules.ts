import { compactToIsoBasic, paymentGap } from '#fiscal-domain';
import { addSums, areExact, covers, isPartOfSale, parseDocument, refusal, withVatUpTo } from '#fiscal-module';
import type * as port from '#fiscal-module';
import type { Journal } from '../journal/journal.js';
import { sumsOf } from './after-document.js';
import type { ModuleState } from './module-store.js';

/** What a module asks of a document by itself, beside its own shift, memory and clock. */
export class DocumentRules {
  /** @param toleranceTiyin how far what was paid may be from what the document comes to; `null`: not compared */
  constructor(
    private readonly terminalId: string,
    private readonly journal: Journal,
    private readonly toleranceTiyin: number | null,
  ) {}

  paymentMismatch({ cashTiyin, cardTiyin, items }: port.FiscalDocument): port.ModuleRefusal | null {
    const { toleranceTiyin } = this;
    if (toleranceTiyin === null) return null;
    const totals = items.map(({ total }) => total);
    if (paymentGap({ cashTiyin, cardTiyin }, totals) <= BigInt(toleranceTiyin)) return null;
    const totalTiyin = totals.reduce((sum, total) => sum + total, 0);
    return refusal('payment_mismatch', { paidTiyin: cashTiyin + cardTiyin, totalTiyin, toleranceTiyin });
  }

  /** A sale that the lifetime sums have no room for, or a refund of what was not sold so. */
  sumsMismatch(document: port.FiscalDocument, state: ModuleState): port.ModuleRefusal | null {
    if (document.type === 'sale') {
      return areExact(addSums(state.sale, sumsOf(document))) ? null : refusal('sums_full');
    }
    if (document.type !== 'refund') return null;
    const mismatch = this.refundMismatch(document);
    if (mismatch) return mismatch;
    return isCovered(document, state) ? null : refusal('refund_exceeds_sales');
  }

  /**
   * Each document has the VAT of its own net. Parts of a sale that are rounded one by one can hold more of it than the sale: a genuine part for
   * which the module's sums have no room because of that has what is left.
   */
  asPart(document: port.FiscalDocument, state: ModuleState): port.FiscalDocument {
    const { refundInfo } = document;
    if (refundInfo?.terminalId !== this.terminalId || isCovered(document, state)) return document;
    const sale = this.journal.findBySeq(refundInfo.receiptSeq);
    if (!sale) return document;
    const earlier = this.journal
      .refundsOf(refundInfo.receiptSeq)
      .map(({ payload }) => parseDocument(payload))
      .filter(({ refund_info: of }) => of?.terminalId === this.terminalId);
    if (!isPartOfSale(document, parseDocument(sale.payload), earlier)) return document;
    return withVatUpTo(document, state.sale.vat - state.refund.vat);
  }

  /** Only a receipt of this module can be compared; another terminal's is taken on trust. */
  private refundMismatch({ refundInfo }: port.FiscalDocument): port.ModuleRefusal | null {
    if (refundInfo?.terminalId !== this.terminalId) return null;
    const { receiptSeq } = refundInfo;
    const entry = this.journal.findBySeq(receiptSeq);
    if (!entry) return refusal('refund_receipt_unknown', { receiptSeq });
    const { type, time } = parseDocument(entry.payload);
    if (type !== 'sale') return refusal('refund_mismatch', { receiptSeq, field: 'receiptSeq', type });
    if (entry.sign !== refundInfo.fiscalSign) return refusal('refund_mismatch', { receiptSeq, field: 'fiscalSign' });
    const matches = compactToIsoBasic(time) === refundInfo.dateTime;
    return matches ? null : refusal('refund_mismatch', { receiptSeq, field: 'dateTime' });
  }
}

function isCovered(document: port.FiscalDocument, { sale, refund }: ModuleState): boolean {
  return covers(sale, addSums(refund, sumsOf(document)));
}
