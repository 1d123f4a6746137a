import { buildVerificationLink, type LocalReceipt, type SaleResponse } from '#fiscal-domain';
import type { JournalEntry } from '../journal/journal.js';
import { parseDocument, recordedFields, type OfdDocument } from '#fiscal-module';
import type { Delivery } from '../ofd/delivery.js';
import { receiptHtml, type ReceiptIssuer } from './receipt-html.js';

/** What the journal records about an unsent document that is not being delivered at the moment. */
export const AWAITS_RESEND = 'not delivered yet: POST /receipts/send-unsent (T-001)';

export interface ResponseParts {
  readonly delivery: Delivery;
  readonly issuer: ReceiptIssuer;
  /** Whether the caller is answered more than the specification says. */
  readonly extensions: boolean;
}

/** The specification's sale response, built from the journal alone: the first answer and every later one agree. */
export function saleResponse(entry: SignedDocument, { delivery, issuer, extensions }: ResponseParts): SaleResponse {
  const document = parseDocument(entry.payload);
  const receipt = localReceipt(entry, document, issuer.verificationUrl);
  return {
    success: true,
    receipt,
    receiptHtml: receiptHtml(document, receipt, issuer),
    ofdSent: delivery.kind === 'sent',
    ...(delivery.kind === 'unsent' && { ofdError: delivery.error }),
    ...(extensions && { recordedFields: recordedFields(document), shiftNumber: document.shift }),
  };
}

export type SignedDocument = Pick<JournalEntry, 'seq' | 'timeMs' | 'payload' | 'sign'>;

function localReceipt(entry: SignedDocument, document: OfdDocument, verificationUrl: string): LocalReceipt {
  const { terminal_id: terminalId, time: compactTime } = document;
  const base = { terminalId, receiptSeq: entry.seq, transactionTime: entry.timeMs };
  if (entry.sign === null) return base;
  const link = { terminalId, receiptSeq: entry.seq, compactTime, fiscalSign: entry.sign };
  return {
    terminalId,
    receiptSeq: entry.seq,
    fiscalSign: entry.sign,
    qrUrl: buildVerificationLink(verificationUrl, link),
    transactionTime: entry.timeMs,
  };
}
