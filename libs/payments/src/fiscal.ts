import { buildVerificationLink, parseTashkentCompact, parseVerificationLink, type ReceiptLine } from '#fiscal-domain';

/** A fiscal document that the provider itself had registered. */
export interface ProviderDocument {
  terminalId: string;
  receiptSeq: number;
  fiscalSign: string;
  url: string;
  /** `yyyymmddhhmmss`, Tashkent. */
  compactTime: string;
}

/** Which of the two documents of a payment is wanted. */
export interface WantedDocument {
  which: 'sale' | 'refund';
  /** The sale's, where it is known: some providers have one place for both. */
  sale: ProviderDocument | null;
  /** All of the money has gone back: what is found in such a place may be the refund's. */
  isMoneyBack: boolean;
  /** What was sold, for a provider that has to be asked to register the refund of it. */
  lines: FiscalLines;
}

/** A receipt's lines as a provider is to register them; never given where our own register does. */
export type FiscalLines = readonly ReceiptLine[];

/** What a provider's form of a line has room for. */
export interface LineForm {
  fractions: boolean;
  discounts: boolean;
  /** Goods that are sold for another seller. */
  commission: readonly ('tin' | 'pinfl')[];
}

/** Of a provider that registers none. */
export const NO_LINES: LineForm = { fractions: false, discounts: false, commission: [] };

export interface Unsayable {
  field: 'qty' | 'discount' | 'commission';
  detail: string;
}

/** What of a line would be lost on its way to the provider that registers it; null: nothing. */
export function unsayable(line: FiscalLines[number], form: LineForm): Unsayable | null {
  if (!form.fractions && line.quantity % 1_000 !== 0) return { field: 'qty', detail: 'whole quantities only' };
  if (!form.discounts && line.discountTiyin > 0) return { field: 'discount', detail: 'no discounts' };
  const { commission } = line;
  if (commission === null || form.commission.some((kind) => (commission[kind] ?? null) !== null)) return null;
  const kinds =
    form.commission.length === 0 ? 'no goods of another seller' : `another seller by ${form.commission.join()} only`;
  return { field: 'commission', detail: kinds };
}

/** The document that a provider reports; null when the report does not identify it. */
export function providerDocument(reported: {
  url: string | null;
  terminalId?: string | null;
  receiptSeq?: string | null;
  fiscalSign?: string | null;
  compactTime?: string | null;
}): ProviderDocument | null {
  const link = reported.url === null ? null : parseVerificationLink(reported.url);
  // The link says it all; its own words count only where it is another kind of link, or none.
  if (link && reported.url !== null) return { ...link, url: reported.url };
  const { terminalId = null, receiptSeq = null, fiscalSign = null, compactTime = null } = reported;
  if (terminalId === null || fiscalSign === null || compactTime === null) return null;
  if (receiptSeq === null || !/^[1-9]\d{0,15}$/.test(receiptSeq) || !Number.isSafeInteger(Number(receiptSeq)))
    return null;
  if (parseTashkentCompact(compactTime) === null) return null;
  const named = { terminalId, receiptSeq: Number(receiptSeq), fiscalSign, compactTime };
  return { ...named, url: reported.url ?? buildVerificationLink('https://ofd.soliq.uz/check', named) };
}
