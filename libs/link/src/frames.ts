import { MAX_LOCAL_ANSWER_BYTES, MAX_LOCAL_REQUEST_BYTES, isObject } from '#fiscal-domain';
import type { ExchangeFailure, ExchangeLimits, RawAnswer } from '#local-api';

/** Version of everything that goes over a link; the WebSocket's subprotocol. Another version is another name. */
export const LINK_PROTOCOL = 'fiscal-link.v1';

/** Bounds of a link, the same on both ends: an end that exceeds one is cut. */
export const LINK_LIMITS = {
  headerBytes: 64 * 1024,
  requestBytes: MAX_LOCAL_REQUEST_BYTES,
  answerBytes: MAX_LOCAL_ANSWER_BYTES,
  /** All that may arrive before the register has proven who it is. */
  handshakeBytes: 8 * 1024,
  /** Calls of one link at the same time; a lane makes one, polls and shift calls a few. */
  callsInFlight: 16,
  /** Beyond this much unsent in our own socket nothing new is handed to it. */
  bufferedBytes: 2 * 1024 * 1024,
} as const;

/** Why a WebSocket was closed; 1009 (too large) and 1012 (restart) are WebSocket's own. */
export const CLOSE = {
  restart: 1012,
  tooLarge: 1009,
  refused: 4001,
  superseded: 4002,
  revoked: 4003,
  malformed: 4004,
  replayed: 4005,
  silent: 4006,
  tooSlow: 4007,
} as const;

const LENGTH_BYTES = 4;
/** The largest message that either end may send. */
export const MAX_MESSAGE_BYTES = LENGTH_BYTES + LINK_LIMITS.headerBytes + LINK_LIMITS.answerBytes;

export type Json = Readonly<Record<string, unknown>>;

/** One message: a JSON header, and bytes that are carried untouched. */
export interface Frame {
  header: Json;
  body: Buffer;
}

/** What a request is, without its body. */
export interface CallHead {
  method: 'GET' | 'POST';
  path: string;
  headers: Readonly<Record<string, string>>;
  connectTimeoutMs: number;
}

export type ToRegister =
  /** Connect to the register and say `ready`; the request with this body follows within so much time, or is dropped. */
  | { type: 'open'; id: number; head: CallHead; bodyBytes: number; sendWithinMs: number }
  /** The request of an open call leaves now. */
  | { type: 'send'; id: number; limits: ExchangeLimits }
  /** Connect and send at once. */
  | { type: 'call'; id: number; head: CallHead; limits: ExchangeLimits }
  /** No caller waits for this call any more. It still ends with a result. */
  | { type: 'cancel'; id: number };

export type FromRegister =
  | { type: 'ready'; id: number }
  /** How a call ended; each call has exactly one. */
  | { type: 'result'; id: number; answer: RawAnswer };

/** Layout: length of the header (4 bytes, big-endian), header as JSON, body. */
export function encodeFrame(header: object, body?: Buffer | null): Buffer {
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.allocUnsafe(LENGTH_BYTES);
  length.writeUInt32BE(text.length);
  return Buffer.concat(body ? [length, text, body] : [length, text]);
}

/** Null: not a frame. */
export function decodeFrame(message: Buffer): Frame | null {
  if (message.length < LENGTH_BYTES) return null;
  const headerEnd = LENGTH_BYTES + message.readUInt32BE();
  if (headerEnd > message.length || headerEnd > LENGTH_BYTES + LINK_LIMITS.headerBytes) return null;
  try {
    const header: unknown = JSON.parse(message.toString('utf8', LENGTH_BYTES, headerEnd));
    return isObject(header) ? { header, body: message.subarray(headerEnd) } : null;
  } catch {
    // Not JSON: reported by the return value.
    return null;
  }
}

/** Null: not what the register's end may receive. */
export function readToRegister({ header, body }: Frame): ToRegister | null {
  const { type, id } = header;
  if (!isCount(id) || body.length > LINK_LIMITS.requestBytes) return null;
  if (type === 'cancel') return { type, id };
  if (type === 'send') {
    const limits = readLimits(header['limits']);
    return limits && { type, id, limits };
  }
  const head = readHead(header['head']);
  if (!head) return null;
  if (type === 'call') {
    const limits = readLimits(header['limits']);
    return limits && { type, id, head, limits };
  }
  const { bodyBytes, sendWithinMs } = header;
  if (type !== 'open' || !isCount(bodyBytes) || !isCount(sendWithinMs)) return null;
  if (bodyBytes > LINK_LIMITS.requestBytes) return null;
  return { type, id, head, bodyBytes, sendWithinMs };
}

/** Null: not what a register may say. */
export function readFromRegister(frame: Frame): FromRegister | null {
  const { type, id } = frame.header;
  if (!isCount(id)) return null;
  if (type === 'ready') return { type, id };
  const answer = type === 'result' ? readAnswer(frame) : null;
  return answer && { type: 'result', id, answer };
}

/** The frame of a call's end; `more` is joined to its header. */
export function encodeAnswer(more: object, answer: RawAnswer): Buffer {
  if (answer.kind !== 'answered') return encodeFrame({ ...more, ...answer });
  const { body, ...head } = answer;
  const frame = encodeFrame({ ...more, ...head, headers: carriedHeaders(head.headers) }, body);
  const isTooLarge = frame.length - body.length > LENGTH_BYTES + LINK_LIMITS.headerBytes;
  return isTooLarge ? encodeAnswer(more, { kind: 'failed', reason: 'too_large' }) : frame;
}

const FAILURES: readonly ExchangeFailure[] = ['timeout', 'reset', 'unreadable', 'too_large'];

/** Null: not the end of a call. */
export function readAnswer({ header, body }: Frame): RawAnswer | null {
  const { kind, reason, httpStatus, headers } = header;
  if (kind === 'not_sent') return typeof reason === 'string' ? { kind, reason: reason.slice(0, 200) } : null;
  const status = isCount(httpStatus) ? httpStatus : undefined;
  if (kind === 'answered') {
    if (status === undefined || !isTexts(headers)) return null;
    return { kind, httpStatus: status, headers, body };
  }
  const failure = FAILURES.find((one) => one === reason);
  if (kind !== 'failed' || !failure) return null;
  return { kind, reason: failure, ...(status !== undefined && { httpStatus: status }) };
}

/** Of the connection between two neighbours, not of the answer. */
const NOT_CARRIED = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'te',
  'trailer',
  'upgrade',
  'set-cookie',
]);

function carriedHeaders(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  const carried = Object.entries(headers).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string' && !NOT_CARRIED.has(entry[0]),
  );
  return Object.fromEntries(carried);
}

/** Null: not the head of a request. */
export function readHead(value: unknown): CallHead | null {
  if (!isObject(value)) return null;
  const { method, path, headers, connectTimeoutMs } = value;
  if (method !== 'GET' && method !== 'POST') return null;
  if (typeof path !== 'string' || !isTexts(headers) || !isCount(connectTimeoutMs)) return null;
  return { method, path, headers, connectTimeoutMs };
}

/** Null: not the limits of an exchange. */
export function readLimits(value: unknown): ExchangeLimits | null {
  if (!isObject(value)) return null;
  const { timeoutMs, maxAnswerBytes } = value;
  if (!isCount(timeoutMs) || !isCount(maxAnswerBytes) || maxAnswerBytes > LINK_LIMITS.answerBytes) return null;
  return { timeoutMs, maxAnswerBytes };
}

function isTexts(value: unknown): value is Record<string, string> {
  return isObject(value) && Object.values(value).every((entry) => typeof entry === 'string');
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
