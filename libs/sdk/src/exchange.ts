import { bytesOf, type Bytes } from './bytes.js';
import { limitedTo } from './clock.js';
import type { Problem } from './errors.js';
import { parseRetryAfter } from './retry.js';

export interface OneRequest {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body: Bytes | null;
  timeoutMs: number;
  signal: AbortSignal | undefined;
  /** `json` also reads the body; `response` hands the answer over unread. */
  read: 'json' | 'response';
}

/** What one request came to. */
export type Outcome =
  | { kind: 'done'; status: number; requestId: string | null; value: unknown }
  | {
      kind: 'refused';
      status: number;
      requestId: string | null;
      retryAfterMs: number | null;
      location: string | null;
      problem: Problem | null;
      /** The JSON of the answer, whatever it is. */
      body: unknown;
    }
  | { kind: 'no_answer'; cause: unknown };

/** One request over the wire. Rejects only when the caller aborts. */
export async function exchange(fetch: typeof globalThis.fetch, request: OneRequest): Promise<Outcome> {
  const { method, url, headers, body, timeoutMs, signal, read } = request;
  const limit = limitedTo(timeoutMs, signal);
  let release = limit.release;
  try {
    // A redirect would turn a sale into a GET, and a signature covers the address.
    const response = await fetch(url, { method, headers, body, signal: limit.signal, redirect: 'manual' });
    if (response.ok && read === 'response') release = limit.stopTimer;
    return await outcomeOf(response, read);
  } catch (error) {
    // What was being read when it came rejects with an error of the runtime's own.
    signal?.throwIfAborted();
    return { kind: 'no_answer', cause: limit.isTimedOut() ? new Error(`No answer within ${timeoutMs} ms.`) : error };
  } finally {
    release();
  }
}

/** An answer that ends early rejects here: its status alone is no result. */
async function outcomeOf(response: Response, read: OneRequest['read']): Promise<Outcome> {
  const { status, headers } = response;
  const requestId = headers.get('x-request-id');
  if (response.ok && read === 'response') return { kind: 'done', status, requestId, value: response };
  const text = await response.text();
  if (response.ok) return { kind: 'done', status, requestId, value: status === 204 ? undefined : JSON.parse(text) };
  const body = parseOrNull(text);
  const retryAfterMs = parseRetryAfter(headers.get('retry-after'));
  const problem = isProblem(body) ? body : null;
  return { kind: 'refused', status, requestId, retryAfterMs, location: headers.get('location'), problem, body };
}

export function jsonBytes(value: unknown): Bytes {
  return bytesOf(JSON.stringify(value));
}

/** A proxy in between answers with a page of its own. */
function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function isProblem(body: unknown): body is Problem {
  const { code, detail, errors } = (body ?? {}) as Partial<Problem>;
  return typeof code === 'string' && typeof detail === 'string' && Array.isArray(errors);
}
