/** Readers of the register's answers: the typed value, or `null` when anything that we rely on is missing or odd. */
import {
  SUBSCRIPTION_STATES,
  truncateText,
  type CloseShiftResponse,
  type CurrentZReport,
  type FmInfo,
  type LocalBranch,
  type LocalBusiness,
  type LocalReceipt,
  type LocalStatus,
  type OpenShiftResponse,
  type ResendError,
  type ResendResult,
  type SaleResponse,
  type SubscriptionState,
  type ZReportStats,
} from '#fiscal-domain';

/** What the column of a receipt holds. */
const MAX_SHIFT = 2_147_483_647;
/** The last millisecond of the year 9999: later ones have no text that all readers of the ledger know. */
const MAX_TIME = Date.UTC(10_000, 0) - 1;

type Json = Readonly<Record<string, unknown>>;

export function asObject(value: unknown): Json | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : null;
}

/** A text with at least one character. */
export function asText(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** What a register says in words is kept with each device and receipt, and sent on: its answer may have two million characters. */
const WORDS_LENGTH = 500;

/** A text for people, of which the beginning is enough. */
export function asWords(value: unknown): string | null {
  const text = asText(value);
  return text === null ? null : truncateText(text, WORDS_LENGTH);
}

/**
 * Terminal, sequence and time must be right; a sign or link of a wrong type makes the whole answer unreadable, because
 * they cannot be asked for again everywhere. What only concerns delivery and print is read leniently, and so are extensions: what
 * is odd about them counts as absent.
 */
export function parseSaleResponse(body: unknown): SaleResponse | null {
  const json = asObject(body);
  const receipt = parseReceipt(json?.['receipt']);
  if (!json || !receipt) return null;
  const ofdSent = json['ofdSent'] === true;
  const ofdError = asText(json['ofdError']);
  const recordedFields = asTextList(json['recordedFields']);
  const shiftNumber = asCount(json['shiftNumber']);
  return {
    success: true,
    receipt,
    receiptHtml: asText(json['receiptHtml']) ?? '',
    ofdSent,
    ...(!ofdSent && ofdError !== null && { ofdError }),
    ...(recordedFields && { recordedFields }),
    ...(shiftNumber !== null && shiftNumber > 0 && shiftNumber <= MAX_SHIFT && { shiftNumber }),
  };
}

function parseReceipt(value: unknown): LocalReceipt | null {
  const json = asObject(value);
  if (!json) return null;
  const terminalId = asText(json['terminalId']);
  const receiptSeq = asCount(json['receiptSeq']);
  const transactionTime = asCount(json['transactionTime']);
  if (terminalId === null || receiptSeq === null || receiptSeq === 0 || transactionTime === null) return null;
  if (transactionTime > MAX_TIME) return null;
  const fiscalSign = asOptionalText(json['fiscalSign']);
  const qrUrl = asOptionalText(json['qrUrl']);
  if (fiscalSign === null || qrUrl === null) return null;
  return { terminalId, receiptSeq, ...fiscalSign.as('fiscalSign'), ...qrUrl.as('qrUrl'), transactionTime };
}

export function parseStatus(body: unknown): LocalStatus | null {
  const json = asObject(body);
  if (!json) return null;
  const port = asCount(json['port']);
  const subscriptionState = SUBSCRIPTION_STATES.find((state) => state === json['subscriptionState']);
  const capabilities = asTextList(json['capabilities']);
  const journalId = asOptionalText(json['journalId']);
  const { fmInitialized, activated } = json;
  if (typeof fmInitialized !== 'boolean' || typeof activated !== 'boolean') return null;
  if (port === null || !subscriptionState || journalId === null || capabilities === null) return null;
  return {
    app: asText(json['app']) ?? '',
    version: asText(json['version']) ?? '',
    systemVersion: asText(json['systemVersion']) ?? '',
    port,
    fmInitialized,
    activated,
    subscriptionState: subscriptionState satisfies SubscriptionState,
    ...(capabilities && { capabilities }),
    ...journalId.as('journalId'),
    ...fmRefusalIn(json['fmRefusal']),
  };
}

/** By these the next poll sees it to be gone; a block under another code would need a person. */
const REFUSING_EVERYTHING = new Set(['F-001', 'F-003']);

/** In a form that is not ours it says nothing, as any field that is not known. */
function fmRefusalIn(value: unknown): Pick<LocalStatus, 'fmRefusal'> {
  const json = asObject(value);
  const [code, reason, message] = ['code', 'reason', 'message'].map((name) => asWords(json?.[name]));
  return code && REFUSING_EVERYTHING.has(code) && reason && message ? { fmRefusal: { code, reason, message } } : {};
}

const FM_COUNTS = [
  ...(['type', 'receiptCount', 'receiptMaxCount', 'zreportCount', 'zreportMaxCount', 'currentReceiptSeq'] as const),
  ...(['AccumulatedSaleCash', 'AccumulatedSaleCard', 'AccumulatedRefundCash', 'AccumulatedRefundCard'] as const),
  ...(['AccumulatedSaleVAT', 'AccumulatedRefundVAT'] as const),
];

export function parseFmInfo(body: unknown): FmInfo | null {
  const json = asObject(body);
  const terminalId = asText(json?.['terminalId']);
  const counts = json && asCounts(json, FM_COUNTS);
  if (!json || terminalId === null || !counts) return null;
  return { terminalId, version: asText(json['version']) ?? '', ...counts };
}

export function parseBusiness(body: unknown): LocalBusiness | null {
  const json = asObject(body);
  const business = asObject(json?.['business']);
  if (!json || !business) return null;
  const text = (name: string): string => asText(business[name]) ?? '';
  return {
    success: json['success'] === true,
    business: {
      name: text('name'),
      phone: text('phone'),
      tin: text('tin'),
      legal_address: text('legal_address'),
      actual_address: text('actual_address'),
      has_warehouse_system: business['has_warehouse_system'] === true,
    },
  };
}

export function parseBranch(body: unknown): LocalBranch | null {
  const json = asObject(body);
  const branch = asObject(json?.['branch']);
  const id = asText(branch?.['_id']);
  if (!json || !branch || id === null) return null;
  return { success: json['success'] === true, branch: { _id: id, address: asText(branch['address']) ?? '' } };
}

export function parseOpenShift(body: unknown): OpenShiftResponse | null {
  return asObject(body)?.['success'] === true ? { success: true } : null;
}

export function parseCloseShift(body: unknown): CloseShiftResponse | null {
  const json = asObject(body);
  const zReport = asObject(json?.['zReport']);
  const number = asCount(zReport?.['number']);
  const closeTime = asText(zReport?.['closeTime']);
  if (json?.['success'] !== true || number === null || closeTime === null) return null;
  const ofdSent = json['ofdSent'] === true;
  const ofdError = asText(json['ofdError']);
  return { success: true, zReport: { number, closeTime }, ofdSent, ...(!ofdSent && ofdError !== null && { ofdError }) };
}

const Z_COUNTS = [
  ...(['TotalSaleCash', 'TotalSaleCard', 'TotalSaleVAT', 'TotalSaleCount'] as const),
  ...(['TotalRefundCash', 'TotalRefundCard', 'TotalRefundVAT', 'TotalRefundCount'] as const),
];

export function parseCurrentZReport(body: unknown): CurrentZReport | null {
  const json = asObject(body);
  const header = asObject(json?.['Header']);
  const counts = json && asCounts(json, Z_COUNTS);
  const terminalId = asText(header?.['TerminalID']);
  const number = asCount(header?.['Number']);
  const openTime = asText(header?.['OpenTime']);
  const closeTime = header?.['CloseTime'];
  if (!counts || terminalId === null || number === null || openTime === null || typeof closeTime !== 'string')
    return null;
  return { Header: { TerminalID: terminalId, Number: number, OpenTime: openTime, CloseTime: closeTime }, ...counts };
}

export function parseZReportStats(body: unknown): ZReportStats | null {
  const json = asObject(body);
  const counts = json && asCounts(json, ['totalClosed', 'totalUnacked'] as const);
  const numbers: unknown = json?.['unackedNumbers'];
  if (!counts || !Array.isArray(numbers)) return null;
  const unackedNumbers = numbers.map(asCount).filter((number) => number !== null);
  return unackedNumbers.length === numbers.length ? { ...counts, unackedNumbers } : null;
}

export function parseResendResult(body: unknown): ResendResult | null {
  const json = asObject(body);
  const counts = json && asCounts(json, ['total', 'sent', 'failed'] as const);
  if (!json || !counts || typeof json['success'] !== 'boolean') return null;
  const errors: readonly unknown[] = Array.isArray(json['errors']) ? json['errors'] : [];
  return { success: json['success'], ...counts, errors: errors.map(parseResendError) };
}

/** Its shape is not specified anywhere: read what is there. */
function parseResendError(value: unknown): ResendError {
  const json = asObject(value) ?? {};
  const receiptSeq = asCount(json['receiptSeq']);
  const number = asCount(json['number']);
  return {
    ...(receiptSeq !== null && { receiptSeq }),
    ...(number !== null && { number }),
    code: asText(json['code']) ?? '',
    message: asText(json['message']) ?? '',
  };
}

/** A whole number from 0, exactly representable. */
function asCount(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

function asCounts<Name extends string>(json: Json, names: readonly Name[]): Record<Name, number> | null {
  const counts: Record<string, number> = {};
  for (const name of names) {
    const count = asCount(json[name]);
    if (count === null) return null;
    counts[name] = count;
  }
  // Every name of the list was filled in above.
  return counts;
}

/** `undefined` when absent, `null` when it is something else than a list of texts. */
function asTextList(value: unknown): string[] | undefined | null {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) return null;
  const texts = value.filter((item): item is string => typeof item === 'string');
  return texts.length === value.length ? texts : null;
}

/** Present or absent; `null` when it is there but no text. Empty counts as absent. */
function asOptionalText(value: unknown): OptionalText | null {
  if (value === undefined || value === null || value === '') return new OptionalText(undefined);
  return typeof value === 'string' ? new OptionalText(value) : null;
}

class OptionalText {
  constructor(private readonly value: string | undefined) {}

  /** An object with the member, or without it. */
  as<Name extends string>(name: Name): { [key in Name]?: string } {
    const member: { [key in Name]?: string } = {};
    if (this.value !== undefined) member[name] = this.value;
    return member;
  }
}
