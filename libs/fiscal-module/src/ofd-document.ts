import { knownFiscalFields, type FiscalField, type LocalExtraInfo, type LocalTaxpayer } from '#fiscal-domain';
import type { FiscalDocument, FiscalItem, Shift, Taxpayer } from './fiscal-module.js';

/**
 * What the register and the OFD exchange (our own protocol; the national one is not public):
 *
 * `POST {ofd}/documents` `{terminal_id, documents: [OfdDocument & {digest, fiscal_sign}]}` and
 * `POST {ofd}/z-reports` `{terminal_id, z_reports: [OfdZReport & {digest}]}`, at most 32 entries, in order.
 * Answer 200 `{results: [{seq, status: 'accepted' | 'rejected', code?, message?}]}`, one result per entry.
 *
 * `digest` is the SHA-256 (hex) of the canonical JSON (keys sorted, no spaces) of the entry without `digest` and
 * `fiscal_sign`. `prev_digest` is the digest of the terminal's document before it, so the OFD sees gaps and changes.
 * Delivery is idempotent by terminal and sequence. Money in tiyin, `time` is Tashkent `yyyymmddhhmmss`.
 */
export interface OfdDocument {
  readonly card: number;
  readonly cash: number;
  /** The buyer; absent where none was named. */
  readonly customer?: Taxpayer;
  /** How the money came; absent where it is unknown. */
  readonly extra_info?: OfdExtraInfo;
  readonly items: readonly FiscalItem[];
  /** The wallet by which `card` was paid; absent where none was named. */
  readonly payment_provider?: string;
  readonly prev_digest: string;
  readonly refund_info: { dateTime: string; fiscalSign: string; receiptSeq: number; terminalId: string } | null;
  readonly seq: number;
  readonly shift: number;
  readonly terminal_id: string;
  readonly time: string;
  readonly type: string;
  readonly vat: number;
}

export interface OfdExtraInfo {
  readonly card_type: number | null;
  readonly payment_id: string | null;
  readonly payment_provider: number | null;
  readonly phone: string | null;
  readonly rrn: string | null;
}

export interface OfdZReport {
  readonly card: number;
  readonly cash: number;
  readonly documents: number;
  readonly items: readonly never[];
  readonly open_time: string;
  readonly prev_digest: string;
  readonly refund: { card: number; cash: number; count: number; vat: number };
  readonly sale: { card: number; cash: number; count: number; vat: number };
  readonly seq: number;
  readonly terminal_id: string;
  readonly time: string;
  readonly type: 'z-report';
  readonly vat: number;
}

/** At most this many entries in one call to the OFD. */
export const OFD_BATCH = 32;

export interface Place {
  readonly terminalId: string;
  readonly seq: number;
  /** Tashkent `yyyymmddhhmmss`. */
  readonly time: string;
  readonly prevDigest: string;
}

/** Canonical JSON of a document: the literals below write their keys in sorted order, a test holds them to it. */
export function documentPayload(document: FiscalDocument, place: Place, shift: number): string {
  const info = document.refundInfo;
  const payload: OfdDocument = {
    card: document.cardTiyin,
    cash: document.cashTiyin,
    ...(document.customer && { customer: taxpayerPayload(document.customer) }),
    ...(document.extraInfo && { extra_info: extraPayload(document.extraInfo) }),
    items: document.items.map(itemPayload),
    ...(document.paymentProvider && { payment_provider: document.paymentProvider }),
    prev_digest: place.prevDigest,
    refund_info: info && {
      dateTime: info.dateTime,
      fiscalSign: info.fiscalSign,
      receiptSeq: info.receiptSeq,
      terminalId: info.terminalId,
    },
    seq: place.seq,
    shift,
    terminal_id: place.terminalId,
    time: place.time,
    type: document.type,
    vat: document.vatTiyin,
  };
  return JSON.stringify(payload);
}

export function taxpayerPayload({ tin, pinfl }: LocalTaxpayer): Taxpayer {
  return { pinfl: pinfl ?? null, tin: tin ?? null };
}

function extraPayload({ cardType, paymentId, paymentProvider, phone, rrn }: LocalExtraInfo): OfdExtraInfo {
  return {
    card_type: cardType ?? null,
    payment_id: paymentId ?? null,
    payment_provider: paymentProvider ?? null,
    phone: phone ?? null,
    rrn: rrn ?? null,
  };
}

function itemPayload(item: FiscalItem): FiscalItem {
  return {
    amount: item.amount,
    barcode: item.barcode,
    ...(item.commission && { commission: item.commission }),
    discount: item.discount,
    labels: item.labels,
    name: item.name,
    package_code: item.package_code,
    price: item.price,
    spic: item.spic,
    total: item.total,
    units: item.units,
    vat: item.vat,
    vat_percent: item.vat_percent,
  };
}

export function zReportPayload(shift: Shift, openTime: string, place: Place): string {
  const { sale, refund } = shift;
  const payload: OfdZReport = {
    card: sale.card - refund.card,
    cash: sale.cash - refund.cash,
    documents: shift.documents,
    items: [],
    open_time: openTime,
    prev_digest: place.prevDigest,
    refund: { card: refund.card, cash: refund.cash, count: shift.refundCount, vat: refund.vat },
    sale: { card: sale.card, cash: sale.cash, count: shift.saleCount, vat: sale.vat },
    seq: place.seq,
    terminal_id: place.terminalId,
    time: place.time,
    type: 'z-report',
    vat: sale.vat - refund.vat,
  };
  return JSON.stringify(payload);
}

export function parseDocument(payload: string): OfdDocument {
  // Only payloads written by documentPayload() reach this; the chain check at start proves them unchanged.
  return JSON.parse(payload) as OfdDocument;
}

/** What of the extensions a document holds. */
export function recordedFields(document: OfdDocument): FiscalField[] {
  return knownFiscalFields([
    ...(document.items.some(({ commission }) => commission !== undefined) ? ['commission'] : []),
    ...(document.customer ? ['customer'] : []),
    ...(document.payment_provider === undefined ? [] : ['payment_provider']),
  ]);
}
