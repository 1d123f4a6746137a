import type { StoredReceiptDocument } from '#database';
import {
  tiyin,
  vatContained,
  type ReceiptLine,
  type ReceiptType,
  type Thousandths,
  type VatPercent,
} from '#fiscal-domain';
import type { Chance } from './chance.js';

/** Few prices, one of them most of the time, so that receipts of equal sums, the hardest to distinguish, are the rule. */
const PRICES_TIYIN = [500_000, 500_000, 500_000, 1_250_000, 9_990_000];

/** A document as the gateway stores it; its line's name carries the receipt's id to the judge. */
export function documentOf(receiptId: string, chance: Chance): StoredReceiptDocument {
  const type: ReceiptType = chance.happens(0.05) ? 'refund' : chance.happens(0.02) ? 'advance' : 'sale';
  const lines = Array.from({ length: chance.happens(0.2) ? 2 : 1 }, (_, index) => lineOf(receiptId, index + 1, chance));
  const totalTiyin = tiyin(lines.reduce((sum, line) => sum + line.totalTiyin, 0));
  const isCash = chance.happens(0.5);
  return {
    type,
    lines,
    payment: {
      method: isCash ? 'cash' : 'card',
      provider: null,
      cashTiyin: tiyin(isCash ? totalTiyin : 0),
      cardTiyin: tiyin(isCash ? 0 : totalTiyin),
    },
    totalTiyin,
    vatTotalTiyin: tiyin(lines.reduce((sum, line) => sum + line.vatTiyin, 0)),
    customer: null,
    refundInfo:
      type === 'refund'
        ? { terminalId: 'UZ000000000001', receiptSeq: 1, dateTime: '20260105T090000', fiscalSign: '1' }
        : null,
    metadata: null,
    callbackUrl: null,
  };
}

function lineOf(receiptId: string, line: number, chance: Chance): ReceiptLine {
  const priceTiyin = tiyin(chance.pick(PRICES_TIYIN));
  const vatPercent: VatPercent = chance.happens(0.8) ? 12 : 0;
  return {
    ...{ line, sku: null, name: receiptId, quantity: 1_000 as Thousandths, priceTiyin, discountTiyin: tiyin(0) },
    ...{ totalTiyin: priceTiyin, vatPercent, vatTiyin: vatContained(priceTiyin, vatPercent) },
    ...{ spic: '01001001001000001', packageCode: '1', units: 796, barcode: null, labels: [], commission: null },
  };
}
