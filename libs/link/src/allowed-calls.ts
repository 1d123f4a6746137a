import type { CallHead } from './frames.js';

/** The calls of the local fiscal API, and nothing else: a link leads to them and to no other page or port of the shop. */
const PATHS: Readonly<Record<CallHead['method'], readonly RegExp[]>> = {
  GET: [
    /^\/(status|fm\/info|business|branch)$/,
    /^\/z-report\/(current|stats)$/,
    /^\/receipts\?key=[\w.~%!'()*-]{1,800}$/,
    /^\/receipts\/[1-9]\d{0,14}$/,
  ],
  POST: [/^\/receipts$/, /^\/receipts\/send-unsent$/, /^\/z-report\/(open|close|send-unsent)$/],
};

const HEADERS = new Set(['x-api-key', 'accept', 'accept-encoding', 'content-type', 'idempotency-key', 'traceparent']);

/** Why this call is not passed on; null when it is one of the local API. */
export function refusalOfCall({ method, path, headers }: CallHead): string | null {
  if (!PATHS[method].some((pattern) => pattern.test(path))) return 'path_not_allowed';
  return Object.keys(headers).every((name) => HEADERS.has(name.toLowerCase())) ? null : 'header_not_allowed';
}
