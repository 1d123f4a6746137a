import { base64Of, bytesOf, bytesOfBase64, type Bytes } from './bytes.js';
import type { Schema } from './api-types.js';
import { FiscalGatewayError, UsageError } from './errors.js';

/** As the feed lists it and a webhook carries it. What `data` holds depends on `type` (docs/webhooks.md). */
export type FiscalEvent = Omit<Schema<'EventView'>, 'data'> & { data: Readonly<Record<string, unknown>> };

export type WebhookRefusal =
  | 'header_missing'
  | 'timestamp_invalid'
  | 'too_old'
  | 'too_new'
  | 'no_match'
  | 'body_invalid';

/** Not from the gateway, or too old: answer with 400 and do nothing. */
export class WebhookVerificationError extends FiscalGatewayError {
  override name = 'WebhookVerificationError';

  constructor(
    readonly reason: WebhookRefusal,
    message: string,
  ) {
    super(message);
  }
}

/** `Headers` of fetch, or an object as Node.js has it. */
export type HeadersLike =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyOptions {
  /** How far `webhook-timestamp` may be from now, seconds; five minutes by default. */
  toleranceS?: number;
  /** Milliseconds since 1970. */
  now?: () => number;
}

const TOLERANCE_S = 300;

/**
 * Whether a webhook comes from the gateway (Standard Webhooks). `raw` is the body as it arrived, before any parsing: JSON
 * that was read and written again has another signature. Several secrets are for the time while they change.
 * @throws WebhookVerificationError
 */
export async function verifyWebhook(
  raw: string | Uint8Array,
  headers: HeadersLike,
  secrets: string | readonly string[],
  { toleranceS = TOLERANCE_S, now = Date.now }: VerifyOptions = {},
): Promise<FiscalEvent> {
  const keys = (typeof secrets === 'string' ? [secrets] : secrets).map(keyOf);
  if (keys.length === 0) throw new UsageError('A secret is needed.');
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  const signatures = headerOf(headers, 'webhook-signature');
  assertRecent(timestamp, now() / 1000, toleranceS);
  const body = typeof raw === 'string' ? bytesOf(raw) : raw;
  const signed = joined(bytesOf(`${id}.${timestamp}.`), body);
  if (!(await isSignedByOne(signed, signatures, keys))) {
    throw new WebhookVerificationError(
      'no_match',
      'No signature fits. Is it the secret of this endpoint, and the raw body?',
    );
  }
  return eventOf(body);
}

/**
 * The headers with which the gateway would send this body: for tests of a receiver.
 * @param id of the event; the same at every try
 */
export async function signWebhook(
  body: string | Uint8Array,
  secret: string,
  { id, now = Date.now }: { id: string; now?: () => number },
): Promise<Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>> {
  const timestamp = String(Math.floor(now() / 1000));
  const signed = joined(bytesOf(`${id}.${timestamp}.`), typeof body === 'string' ? bytesOf(body) : body);
  const key = await importKey(keyOf(secret), 'sign');
  const signature = base64Of(new Uint8Array(await crypto.subtle.sign('HMAC', key, signed)));
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
}

function importKey(key: Bytes, use: 'sign' | 'verify') {
  return crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, [use]);
}

function headerOf(headers: HeadersLike, name: string): string {
  const value =
    typeof headers['get'] === 'function' ? headers['get'](name) : (headers as Record<string, unknown>)[name];
  const [first] = Array.isArray(value) ? (value as unknown[]) : [value];
  if (typeof first === 'string' && first !== '') return first;
  throw new WebhookVerificationError('header_missing', `The header ${name} is missing.`);
}

function assertRecent(timestamp: string, nowS: number, toleranceS: number): void {
  if (!/^\d{1,12}$/.test(timestamp)) {
    throw new WebhookVerificationError('timestamp_invalid', 'webhook-timestamp is not a number of seconds.');
  }
  const ageS = nowS - Number(timestamp);
  if (ageS > toleranceS) throw new WebhookVerificationError('too_old', `It was sent ${Math.round(ageS)} s ago.`);
  if (ageS < -toleranceS) throw new WebhookVerificationError('too_new', 'It is from the future: check the clock.');
}

function keyOf(secret: string): Bytes {
  const bytes = secret.startsWith('whsec_') ? bytesOfBase64(secret.slice('whsec_'.length)) : null;
  if (bytes === null || bytes.length === 0) throw new UsageError('A webhook secret is "whsec_" and base64.');
  return bytes;
}

function joined(head: Bytes, body: Uint8Array): Bytes {
  const both = new Uint8Array(head.length + body.length);
  both.set(head);
  both.set(body, head.length);
  return both;
}

/** `subtle.verify` compares in constant time. */
async function isSignedByOne(signed: Bytes, signatures: string, keys: readonly Bytes[]): Promise<boolean> {
  const candidates = signatures
    .split(' ')
    .filter((one) => one.startsWith('v1,'))
    .map((one) => bytesOfBase64(one.slice('v1,'.length)))
    .filter((bytes) => bytes !== null);
  for (const key of keys) {
    const imported = await importKey(key, 'verify');
    for (const candidate of candidates) {
      if (await crypto.subtle.verify('HMAC', imported, candidate, signed)) return true;
    }
  }
  return false;
}

function eventOf(body: Uint8Array): FiscalEvent {
  try {
    return JSON.parse(new TextDecoder().decode(body)) as FiscalEvent;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new WebhookVerificationError('body_invalid', 'The body is signed, but it is not JSON.');
  }
}
