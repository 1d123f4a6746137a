import { tiyin, type ReceiptLine } from '#fiscal-domain';
import type { StoredReceiptDocument } from '../stored-receipt.js';

/** The document of a stored sale of one piece for 1 120 so'm in cash, 12 % VAT in it. */
export function sampleDocument(name = 'Non'): StoredReceiptDocument {
  const line: ReceiptLine = {
    ...{ line: 1, sku: null, name, quantity: 1_000 as ReceiptLine['quantity'], priceTiyin: tiyin(112_000) },
    ...{ discountTiyin: tiyin(0), totalTiyin: tiyin(112_000), vatPercent: 12, vatTiyin: tiyin(12_000) },
    ...{ spic: '01905001001000001', packageCode: '1500001', units: 796, barcode: null, labels: [], commission: null },
  };
  return {
    type: 'sale',
    lines: [line],
    payment: { method: 'cash', provider: null, cashTiyin: tiyin(112_000), cardTiyin: tiyin(0) },
    totalTiyin: tiyin(112_000),
    vatTotalTiyin: tiyin(12_000),
    ...{ customer: null, refundInfo: null, metadata: null, callbackUrl: null },
  };
}
