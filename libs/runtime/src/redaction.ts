/** Keeps secrets out of logs: by the name of the field, and by the pattern of the text. */
import { types } from 'node:util';

const SECRET_NAMES = new Set(
  [
    'authorization',
    'proxy-authorization',
    'cookie',
    'set-cookie',
    'x-api-key',
    'api-key',
    'client-secret',
    'client-assertion',
    'secret',
    'access-token',
    'refresh-token',
    'token',
    'password',
    'secrets-key',
    'database-url',
    'migrate-database-url',
    'queue-url',
    'private-key',
    'secret-hash',
    'register-api-key',
  ].map(foldName),
);

const REDACTED = '[redacted]';
const MAX_DEPTH = 8;

/** A copy of the value in which secrets are replaced. Errors become plain objects with their causes. */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return scrubText(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (depth >= MAX_DEPTH) return '[deep]';
  if (isError(value)) return describeError(value, depth);
  if (ArrayBuffer.isView(value)) return `[${String(value.byteLength)} bytes]`;
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1));
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    copy[key] =
      SECRET_NAMES.has(foldName(key)) && item !== undefined && item !== null ? REDACTED : redact(item, depth + 1);
  }
  return copy;
}

/**
 * Replaces bearer and basic credentials, our own tokens and passwords within URLs. In time that grows with the text and no faster, as
 * others choose it: a URL is found by what stands behind its scheme, as `a.a.a.` would be a scheme again from each letter on.
 */
export function scrubText(text: string): string {
  return text
    .replace(/\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi, `$1 ${REDACTED}`)
    .replace(/\bfgw_(?:test_)?[a-z]+_[A-Za-z0-9]{8,}/g, REDACTED)
    .replace(/(:\/\/[^\s:/@]*):[^\s/@]+@/g, `$1:${REDACTED}@`)
    .replace(/\b(access_token|client_secret|api_key|password)=[^\s&"']+/gi, `$1=${REDACTED}`);
}

/** Also for errors of another realm (worker threads, test sandboxes). */
export function isError(value: unknown): value is Error {
  return value instanceof Error || types.isNativeError(value);
}

function describeError(error: Error, depth: number): Record<string, unknown> {
  const described: Record<string, unknown> = {
    type: error.name,
    message: scrubText(error.message),
    stack: error.stack === undefined ? undefined : scrubText(error.stack),
  };
  const { code, meta } = error as { code?: unknown; meta?: unknown };
  if (code !== undefined) described['code'] = code;
  if (meta !== undefined) described['meta'] = redact(meta, depth + 1);
  if (error.cause !== undefined) described['cause'] = redact(error.cause, depth + 1);
  if ('errors' in error) described['errors'] = redact(error.errors, depth + 1);
  return described;
}

function foldName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '');
}
