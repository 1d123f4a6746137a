import type { IncomingHttpHeaders } from 'node:http';
import { storableJson, type RegisterAnswer, type SaleResponse } from '#fiscal-domain';
import type { RawAnswer } from './exchange.js';
import { asObject, asWords, parseSaleResponse } from './shapes.js';

/** Why an answer proves nothing. */
export type UnclearReason =
  | 'timeout'
  | 'reset'
  | 'unreadable'
  | 'too_large'
  | 'contradiction'
  | 'http_error'
  | 'redirect';

export type Refusal = Extract<RegisterAnswer, { kind: 'refused' }>;

export interface Unclear {
  kind: 'unclear';
  reason: UnclearReason;
  httpStatus?: number;
  /** The beginning of the answer, printable. */
  excerpt?: string;
}

/** What POST /receipts ended with. */
export type SaleAnswer =
  /** Not one byte was written: the register cannot have the document. */
  | { kind: 'not_sent'; reason: string }
  | { kind: 'registered'; httpStatus: number; response: SaleResponse }
  | Refusal
  | Unclear;

/** What any other call ended with. */
export type CallResult<T> =
  | { kind: 'ok'; value: T; headers: IncomingHttpHeaders }
  | Refusal
  /** Not one byte was written. */
  | { kind: 'unreachable'; reason: string }
  | Unclear;

type Judged = { kind: 'success'; httpStatus: number; headers: IncomingHttpHeaders; body: unknown } | Refusal | Unclear;

const EXCERPT_LENGTH = 500;

/** The default of anything odd is "unclear": never success, never refusal. */
export function judgeSale(raw: RawAnswer): SaleAnswer {
  if (raw.kind === 'not_sent') return raw;
  const judged = judge(raw);
  if (judged.kind !== 'success') return judged;
  const body = asObject(judged.body);
  // A sale that does not say success:true says nothing.
  const response = body?.['success'] === true ? parseSaleResponse(body) : null;
  if (!response) return unclear('unreadable', raw);
  return { kind: 'registered', httpStatus: judged.httpStatus, response };
}

/** @param parse the shape of a success; `null` makes the answer unreadable */
export function judgeCall<T>(raw: RawAnswer, parse: (body: unknown) => T | null): CallResult<T> {
  if (raw.kind === 'not_sent') return { kind: 'unreachable', reason: raw.reason };
  const judged = judge(raw);
  if (judged.kind !== 'success') return judged;
  const value = parse(judged.body);
  return value === null ? unclear('unreadable', raw) : { kind: 'ok', value, headers: judged.headers };
}

/** Registers say `success` and `code`; the status only has to not contradict them (facts/local-api.md "Errors"). */
function judge(raw: Exclude<RawAnswer, { kind: 'not_sent' }>): Judged {
  if (raw.kind === 'failed') return unclear(raw.reason, raw);
  const { httpStatus, headers } = raw;
  if (httpStatus >= 300 && httpStatus < 400) return unclear('redirect', raw);
  const parsed = parseJson(raw.body);
  const isSuccessStatus = httpStatus >= 200 && httpStatus < 300;
  const body = parsed.kind === 'json' ? asObject(parsed.value) : null;
  if (!body) return unclear(isSuccessStatus ? 'unreadable' : 'http_error', raw);
  const error = asObject(body['error']);
  // A resend of which some failed says success:false with its counts and no error: the call's own shape decides.
  const isCounted = isSuccessStatus && error === null && body['receipt'] === undefined;
  if (body['success'] === false && !isCounted) return judgeFailure(raw, body, error);
  if (!isSuccessStatus) return unclear(body['success'] === true ? 'contradiction' : 'http_error', raw);
  if (error) return unclear('contradiction', raw);
  return { kind: 'success', httpStatus, headers, body };
}

function judgeFailure(
  raw: Extract<RawAnswer, { kind: 'answered' }>,
  body: Readonly<Record<string, unknown>>,
  error: Readonly<Record<string, unknown>> | null,
): Judged {
  // "Not registered" beside a receipt: one of the two is wrong.
  if (body['receipt'] !== undefined && body['receipt'] !== null) return unclear('contradiction', raw);
  const code = asWords(error?.['code']);
  if (!error || !code) return unclear(raw.httpStatus < 300 ? 'unreadable' : 'http_error', raw);
  const rule = asWords(error['rule']);
  return {
    kind: 'refused',
    httpStatus: raw.httpStatus,
    code,
    message: asWords(error['message']) ?? '',
    ...(rule !== null && { rule }),
    ...(error['details'] !== undefined && { details: error['details'] }),
  };
}

function unclear(reason: UnclearReason, raw: Exclude<RawAnswer, { kind: 'not_sent' }>): Unclear {
  const excerpt = raw.kind === 'answered' ? excerptOf(raw.body) : '';
  return {
    kind: 'unclear',
    reason,
    ...(raw.httpStatus !== undefined && { httpStatus: raw.httpStatus }),
    ...(excerpt !== '' && { excerpt }),
  };
}

function parseJson(body: Buffer): { kind: 'json'; value: unknown } | { kind: 'other' } {
  try {
    // Broken UTF-8 is refused instead of repaired; a byte order mark is skipped.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body);
    return { kind: 'json', value: JSON.parse(storableJson(text)) as unknown };
  } catch {
    // Not JSON is an expected outcome, reported by the return value.
    return { kind: 'other' };
  }
}

function excerptOf(body: Buffer): string {
  const text = body.subarray(0, EXCERPT_LENGTH).toString('utf8');
  return text.replaceAll(/[\p{C}\uFFFD]+/gu, ' ').trim();
}
