import { storableJson } from '#fiscal-domain';

export interface HttpRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  url: string;
  headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as `application/x-www-form-urlencoded`, instead of a body. */
  form?: string;
}

export type HttpAnswer =
  | { kind: 'answered'; status: number; body: unknown }
  /** No byte of the request left this machine. */
  | { kind: 'unsent'; detail: string }
  /** The request may have been read and done. */
  | { kind: 'unknown'; detail: string };

/** How a provider's client reaches out: one request, once, no redirects. What the answer means is the client's business. */
export type HttpExchange = (request: HttpRequest) => Promise<HttpAnswer>;

/** An answer that is no JSON says nothing about what happened. */
export function readAnswer(status: number, text: string): HttpAnswer {
  if (text === '') return { kind: 'answered', status, body: null };
  try {
    return { kind: 'answered', status, body: JSON.parse(storableJson(text)) as unknown };
  } catch {
    // What cannot be read is an outcome of its own, not an error of ours.
    return { kind: 'unknown', detail: `HTTP ${String(status)} with a body that is no JSON` };
  }
}
