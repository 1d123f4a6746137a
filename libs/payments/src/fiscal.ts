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

/** A receipt's lines as a provider is to register them; never given where our own register does. */
export type FiscalLines = readonly ReceiptLine[];

/** What a provider tells of its document; null when it is not enough to name it by. */
export function providerDocument(told: {
  url: string | null;
  terminalId: string | null;
  receiptSeq: string | null;
  fiscalSign: string | null;
  compactTime: string | null;
}): ProviderDocument | null {
  const link = told.url === null ? null : parseVerificationLink(told.url);
  // The link says it all; its own words count only where it is another kind of link, or none.
  if (link && told.url !== null) return { ...link, url: told.url };
  const { terminalId, receiptSeq, fiscalSign, compactTime } = told;
  if (terminalId === null || fiscalSign === null || compactTime === null) return null;
  if (receiptSeq === null || !/^[1-9]\d{0,15}$/.test(receiptSeq) || !Number.isSafeInteger(Number(receiptSeq)))
    return null;
  if (parseTashkentCompact(compactTime) === null) return null;
  const named = { terminalId, receiptSeq: Number(receiptSeq), fiscalSign, compactTime };
  return { ...named, url: told.url ?? buildVerificationLink('https://ofd.soliq.uz/check', named) };
}
