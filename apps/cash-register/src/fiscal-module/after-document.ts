import { addSums } from '#fiscal-module';
import type * as port from '#fiscal-module';
import type { ModuleState } from './module-store.js';

/** What a document adds to the sums of its kind. */
export function sumsOf({ cashTiyin: cash, cardTiyin: card, vatTiyin: vat }: port.FiscalDocument): port.Sums {
  return { cash, card, vat };
}

/** The module's memory once the document is registered. */
export function stateAfter(
  { sale, refund, lastSign }: ModuleState,
  document: port.FiscalDocument,
  { seq, digest, sign, timeMs }: port.Registration,
): ModuleState {
  const sums = sumsOf(document);
  return {
    receiptSeq: seq,
    lastDigest: digest,
    lastSign: sign ?? lastSign,
    lastOperationMs: timeMs,
    sale: document.type === 'sale' ? addSums(sale, sums) : sale,
    refund: document.type === 'refund' ? addSums(refund, sums) : refund,
  };
}

export function shiftAfter(shift: port.Shift, document: port.FiscalDocument): port.Shift {
  const counted = { ...shift, documents: shift.documents + 1 };
  const sums = sumsOf(document);
  if (document.type === 'sale') {
    return { ...counted, saleCount: shift.saleCount + 1, sale: addSums(shift.sale, sums) };
  }
  if (document.type === 'refund') {
    return { ...counted, refundCount: shift.refundCount + 1, refund: addSums(shift.refund, sums) };
  }
  return counted;
}
