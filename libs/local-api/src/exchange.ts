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
import { isUsable, type KeepAlivePool } from './keep-alive.js';

export type ExchangeFailure = 'timeout' | 'reset' | 'unreadable' | 'too_large';

export type RawAnswer =
  /** Not one byte of the request was written. */
  | { kind: 'not_sent'; reason: string }
  | { kind: 'answered'; httpStatus: number; headers: IncomingHttpHeaders; body: Buffer }
  /** Something was written, no complete answer came. */
  | { kind: 'failed'; reason: ExchangeFailure; httpStatus?: number };

export interface ExchangeRequest {
  secure: boolean;
  options: RequestOptions;
  pool: KeepAlivePool;
  connectTimeoutMs: number;
}

export interface ExchangeLimits {
  /** From the first byte of the request to the last byte of the answer. */
  timeoutMs: number;
  maxAnswerBytes: number;
}

/** An open connection with a request prepared on it, or why there is none. Nothing of the request was written. */
export type ExchangeOpening = { kind: 'open'; exchange: Exchange } | { kind: 'not_sent'; reason: string };

/** Opens (or takes) a connection, TLS included, and writes nothing. Never rejects. */
export async function openExchange(request: ExchangeRequest): Promise<ExchangeOpening> {
  const opening = await tryToOpen(request);
  // A kept connection that proves dead before use says nothing about the register: take the next, at last a new one.
  return opening.kind === 'stale' ? openExchange(request) : opening;
}

function tryToOpen({
  secure,
  options,
  pool,
  connectTimeoutMs,
}: ExchangeRequest): Promise<ExchangeOpening | { kind: 'stale' }> {
  return new Promise((resolve) => {
    let request: ClientRequest;
    try {
      pool.dropStale();
      request = (secure ? httpsRequest : httpRequest)({ ...options, agent: pool.agent });
    } catch (error) {
      // A header value or path that HTTP cannot carry.
      resolve({ kind: 'not_sent', reason: reasonOf(error) });
      return;
    }
    const timer = setTimeout(() => {
      fail('connect_timeout');
    }, connectTimeoutMs);
    const fail = (reason: string): void => {
      clearTimeout(timer);
      request.destroy();
      resolve(request.reusedSocket ? { kind: 'stale' } : { kind: 'not_sent', reason });
    };
    // Stays for the life of the request: an error without a listener would end the process.
    request.on('error', (error) => {
      fail(reasonOf(error));
    });
    request.once('socket', (socket) => {
      whenOpen(socket, request.reusedSocket, () => {
        clearTimeout(timer);
        if (request.destroyed || !isUsable(socket)) fail('connection_lost');
        else resolve({ kind: 'open', exchange: new Exchange(request, socket, pool) });
      });
    });
  });
}

function whenOpen(socket: Socket, reused: boolean, open: () => void): void {
  // A turn of the event loop shows a close that the kernel already knows of.
  if (reused) setImmediate(open);
  else if (socket instanceof TLSSocket) socket.once('secureConnect', open);
  else if (socket.connecting) socket.once('connect', open);
  else setImmediate(open);
}

/** One request on one open connection: sent at most once, answered at most once. */
export class Exchange {
  private state: 'open' | 'sent' | 'settled' = 'open';
  private spokeFirst = false;
  private httpStatus: number | undefined;
  private settle: (answer: RawAnswer) => void = () => undefined;

  constructor(
    private readonly request: ClientRequest,
    private readonly socket: Socket,
    private readonly pool: KeepAlivePool,
  ) {
    request.on('response', () => {
      if (this.state === 'open') this.spokeFirst = true;
    });
  }

  /**
   * Writes head and body in one go and waits for the answer. `mayStillSend` is asked synchronously, right before the
   * first byte. Rejects only with what `mayStillSend` throws; nothing was written then.
   */
  send(body: Buffer | null, limits: ExchangeLimits, mayStillSend: () => boolean): Promise<RawAnswer> {
    if (this.state !== 'open') throw new Error('an exchange is sent once');
    return new Promise((resolve, reject) => {
      if (this.spokeFirst || this.request.destroyed || !isUsable(this.socket)) {
        this.abandon();
        resolve({ kind: 'not_sent', reason: 'connection_lost' });
        return;
      }
      this.settle = resolve;
      this.listen(limits);
      let allowed: boolean;
      try {
        allowed = mayStillSend();
      } catch (error) {
        this.abandon();
        reject(error instanceof Error ? error : new Error(String(error)));
        return;
      }
      if (!allowed) {
        this.abandon();
        resolve({ kind: 'not_sent', reason: 'guard' });
        return;
      }
      // The connection is there, so this writes now and not in a later turn.
      this.state = 'sent';
      if (body === null) this.request.end();
      else this.request.end(body);
    });
  }

  /** Gives the connection up without having written anything. */
  abandon(): void {
    if (this.state !== 'open') return;
    this.state = 'settled';
    this.request.destroy();
  }

  private listen({ timeoutMs, maxAnswerBytes }: ExchangeLimits): void {
    const timer = setTimeout(() => {
      this.fail('timeout');
    }, timeoutMs);
    this.request.on('close', () => {
      clearTimeout(timer);
      this.fail('reset');
    });
    this.request.on('error', (error) => {
      this.fail(isProtocolError(error) ? 'unreadable' : 'reset');
    });
    this.request.on('upgrade', (_response, socket) => {
      socket.destroy();
      this.fail('unreadable');
    });
    this.request.on('response', (response) => {
      this.read(response, maxAnswerBytes);
    });
  }

  private read(response: IncomingMessage, maxAnswerBytes: number): void {
    const httpStatus = response.statusCode ?? 0;
    this.httpStatus = httpStatus;
    const chunks: Buffer[] = [];
    let size = 0;
    response.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxAnswerBytes) this.fail('too_large');
      else chunks.push(chunk);
    });
    response.on('error', (error) => {
      this.fail(isProtocolError(error) ? 'unreadable' : 'reset');
    });
    response.on('end', () => {
      if (httpStatus < 400) this.pool.noteIdle(this.socket, response.headers);
      else this.pool.noteDoubtful(this.socket);
      this.finish({ kind: 'answered', httpStatus, headers: response.headers, body: Buffer.concat(chunks) });
    });
  }

  private finish(answer: RawAnswer): void {
    if (this.state !== 'sent') return;
    this.state = 'settled';
    this.settle(answer);
  }

  private fail(reason: ExchangeFailure): void {
    this.finish({ kind: 'failed', reason, ...(this.httpStatus !== undefined && { httpStatus: this.httpStatus }) });
    // A late answer must never be read as the answer to the next request: the connection ends with the failure.
    this.request.destroy();
  }
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
