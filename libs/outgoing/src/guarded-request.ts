import {
  request as httpRequest,
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { OutgoingRefused, readOutgoingUrl, type OutgoingGuard } from './outgoing-guard.js';

const DEFAULT_TIMEOUT_MS = 15_000;
const DEFAULT_CONNECT_TIMEOUT_MS = 5_000;
const DEFAULT_MAX_ANSWER_BYTES = 64 * 1024;
/** Header lines of an answer, together. */
const MAX_HEADER_BYTES = 16 * 1024;

export interface GuardedRequest {
  url: string;
  /** Default POST with a body, else GET. */
  method?: string;
  headers?: Readonly<Record<string, string>>;
  body?: Buffer | string;
  /** From the start to the last byte of the answer. Default 15 s. */
  timeoutMs?: number;
  /** Name resolution, TCP and TLS together. Default 5 s. */
  connectTimeoutMs?: number;
  /** What goes beyond is cut off. Default 64 KiB. */
  maxAnswerBytes?: number;
  /** Certificate authority in PEM, when the other side's is not a public one. */
  ca?: string;
}

export type GuardedAnswer =
  /** The guard forbids it, or the URL is none. Nothing left, and a repeat will not help. */
  | { kind: 'refused'; reason: string }
  /** No connection came about: not one byte of the request left. */
  | { kind: 'not_sent'; reason: string }
  /** Any status, also a redirect: none is followed. */
  | { kind: 'answered'; status: number; headers: IncomingHttpHeaders; body: Buffer; truncated: boolean }
  /** Something may have arrived there, no complete answer came back. */
  | { kind: 'failed'; reason: 'timeout' | 'reset' | 'unreadable'; status?: number };

/**
 * One request to a URL that another party chose. The guard's addresses only, on a connection of its own (a kept one would
 * outlive the check), no redirects, bounded in time and size. Never rejects.
 */
export function guardedRequest(guard: OutgoingGuard, request: GuardedRequest): Promise<GuardedAnswer> {
  const reading = readOutgoingUrl(request.url);
  if (reading.kind === 'malformed') return Promise.resolve({ kind: 'refused', reason: `the URL ${reading.reason}` });
  const { url } = reading;
  const reason = guard.literalFault(url);
  if (reason !== null) return Promise.resolve({ kind: 'refused', reason });
  return new Promise((resolve) => {
    new Call(request, resolve).begin(url, guard);
  });
}

class Call {
  private open = false;
  private settled = false;
  private status: number | undefined;
  private connectTimer: NodeJS.Timeout | undefined;
  private timer: NodeJS.Timeout | undefined;
  private request: ClientRequest | undefined;

  constructor(
    private readonly wanted: GuardedRequest,
    private readonly resolve: (answer: GuardedAnswer) => void,
  ) {}

  begin(url: URL, guard: OutgoingGuard): void {
    const { timeoutMs = DEFAULT_TIMEOUT_MS, connectTimeoutMs = DEFAULT_CONNECT_TIMEOUT_MS } = this.wanted;
    const secure = url.protocol === 'https:';
    try {
      this.request = (secure ? httpsRequest : httpRequest)(this.optionsFor(url, guard));
    } catch (error) {
      // A header value that HTTP cannot carry.
      this.finish({ kind: 'refused', reason: reasonOf(error) });
      return;
    }
    this.connectTimer = setTimeout(() => this.fail('timeout'), Math.min(connectTimeoutMs, timeoutMs));
    this.timer = setTimeout(() => this.fail('timeout'), timeoutMs);
    this.listen(this.request);
  }

  private optionsFor(url: URL, guard: OutgoingGuard): RequestOptions & { ca?: string } {
    const { method, headers, ca } = this.wanted;
    const body = this.body();
    return {
      method: method ?? (body === null ? 'GET' : 'POST'),
      host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: url.port === '' ? undefined : Number(url.port),
      path: `${url.pathname}${url.search}`,
      headers: { ...headers, ...(body !== null && { 'Content-Length': String(body.length) }) },
      lookup: guard.lookupFor(url),
      agent: false,
      maxHeaderSize: MAX_HEADER_BYTES,
      ...(ca !== undefined && { ca }),
    };
  }

  private body(): Buffer | null {
    const { body } = this.wanted;
    return body === undefined ? null : Buffer.from(body);
  }

  private listen(request: ClientRequest): void {
    request.once('socket', (socket) => {
      whenOpen(socket, () => {
        clearTimeout(this.connectTimer);
        this.open = true;
        // The request's own bytes leave only from here on: before, "not sent" is certain.
        const body = this.body();
        if (body === null) request.end();
        else request.end(body);
      });
    });
    request.on('error', (error) => {
      if (error instanceof OutgoingRefused) this.finish({ kind: 'refused', reason: error.message });
      else if (!this.open) this.finish({ kind: 'not_sent', reason: reasonOf(error) });
      else this.fail(isProtocolError(error) ? 'unreadable' : 'reset');
    });
    request.on('close', () => this.fail('reset'));
    request.on('upgrade', (_response, socket) => {
      socket.destroy();
      this.fail('unreadable');
    });
    request.on('response', (response) => this.read(response));
  }

  private read(response: IncomingMessage): void {
    const { maxAnswerBytes = DEFAULT_MAX_ANSWER_BYTES } = this.wanted;
    const status = response.statusCode ?? 0;
    this.status = status;
    const chunks: Buffer[] = [];
    let size = 0;
    const answer = (truncated: boolean): void => {
      const body = Buffer.concat(chunks).subarray(0, maxAnswerBytes);
      this.finish({ kind: 'answered', status, headers: response.headers, body, truncated });
    };
    response.on('data', (chunk: Buffer) => {
      size += chunk.length;
      chunks.push(chunk);
      if (size > maxAnswerBytes) answer(true);
    });
    response.on('error', (error) => this.fail(isProtocolError(error) ? 'unreadable' : 'reset'));
    response.on('end', () => answer(false));
  }

  private fail(reason: 'timeout' | 'reset' | 'unreadable'): void {
    if (!this.open) this.finish({ kind: 'not_sent', reason: reason === 'timeout' ? 'connect_timeout' : reason });
    else this.finish({ kind: 'failed', reason, ...(this.status !== undefined && { status: this.status }) });
  }

  private finish(answer: GuardedAnswer): void {
    if (this.settled) return;
    this.settled = true;
    clearTimeout(this.connectTimer);
    clearTimeout(this.timer);
    this.resolve(answer);
    this.request?.destroy();
  }
}

function whenOpen(socket: Socket, open: () => void): void {
  if (socket instanceof TLSSocket) socket.once('secureConnect', open);
  else if (socket.connecting) socket.once('connect', open);
  else setImmediate(open);
}

function isProtocolError(error: Error & { code?: string }): boolean {
  return error.code?.startsWith('HPE_') ?? false;
}

/** A code such as ECONNREFUSED where there is one. */
function reasonOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (typeof code === 'string') return code;
  return typeof message === 'string' ? message : 'unknown error';
}
