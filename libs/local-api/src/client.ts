import {
  MAX_LOCAL_ANSWER_BYTES,
  type CloseShiftResponse,
  type CurrentZReport,
  type FmInfo,
  type LocalBranch,
  type LocalBusiness,
  type LocalStatus,
  type OpenShiftResponse,
  type ResendResult,
  type SaleResponse,
  type ZReportStats,
} from '#fiscal-domain';
import { startSpan, writeTraceParent, type Span } from '#runtime';
import { judgeCall, judgeSale, type CallResult, type SaleAnswer } from './answers.js';
import type { ExchangeLimits } from './exchange.js';
import { HttpTransport, type HttpTransportOptions } from './http-transport.js';
import * as shapes from './shapes.js';
import type { LocalApiTransport, OpenedCall, Opening } from './transport.js';

export interface CallOptions {
  apiKey: string;
  /** From the first byte of a request to the last byte of its answer. */
  timeoutMs: number;
  /** The same for every call but POST /receipts, which may wait for dead OFD servers. Default: `timeoutMs`. */
  callTimeoutMs?: number;
  /** Name resolution, TCP and TLS together. Default: the smaller of `timeoutMs` and 10 s. */
  connectTimeoutMs?: number;
  /** Default 2 MiB. */
  maxAnswerBytes?: number;
}

/** A register that is called at its address. */
export interface LocalApiClientOptions extends CallOptions, HttpTransportOptions {}

/** A register that something else than its own address leads to. */
export interface CarriedClientOptions extends CallOptions {
  transport: LocalApiTransport;
}

/** A receipt on an open connection, not yet written. Use it once: `send` or `abandon`. */
export interface PreparedCall {
  /** `mayStillSend` is asked synchronously right before the first byte; false → `not_sent` with the reason `guard`. */
  send(mayStillSend: () => boolean): Promise<SaleAnswer>;
  abandon(): void;
}

export type Preparation = { kind: 'ready'; call: PreparedCall } | { kind: 'not_sent'; reason: string };

interface Call {
  method: 'GET' | 'POST';
  path: string;
  body?: Buffer;
  idempotencyKey?: string | null;
  confirmed?: boolean;
}

/** Some builds refuse an empty body (facts/local-api.md "Calls"). */
const EMPTY_BODY = Buffer.from('{}');
const MAX_CONNECT_MS = 10_000;

/**
 * Client of the local fiscal API of one register. Follows no redirect, repeats nothing, and distinguishes "not one byte left"
 * apart from "unclear", which is what the lane's decisions rest on (docs/architecture.md).
 */
export class LocalApiClient {
  private readonly transport: LocalApiTransport;
  private readonly limits: ExchangeLimits;
  private readonly callLimits: ExchangeLimits;

  /** @throws TypeError when `baseUrl` is no http or https URL */
  constructor(private readonly options: LocalApiClientOptions | CarriedClientOptions) {
    this.transport = 'transport' in options ? options.transport : new HttpTransport(options);
    this.limits = {
      timeoutMs: options.timeoutMs,
      maxAnswerBytes: options.maxAnswerBytes ?? MAX_LOCAL_ANSWER_BYTES,
    };
    this.callLimits = { ...this.limits, timeoutMs: options.callTimeoutMs ?? options.timeoutMs };
  }

  status(): Promise<CallResult<LocalStatus>> {
    return this.get('/status', shapes.parseStatus);
  }

  fmInfo(): Promise<CallResult<FmInfo>> {
    return this.get('/fm/info', shapes.parseFmInfo);
  }

  business(): Promise<CallResult<LocalBusiness>> {
    return this.get('/business', shapes.parseBusiness);
  }

  branch(): Promise<CallResult<LocalBranch>> {
    return this.get('/branch', shapes.parseBranch);
  }

  openShift(): Promise<CallResult<OpenShiftResponse>> {
    return this.post('/z-report/open', shapes.parseOpenShift);
  }

  closeShift(): Promise<CallResult<CloseShiftResponse>> {
    return this.post('/z-report/close', shapes.parseCloseShift);
  }

  currentZReport(): Promise<CallResult<CurrentZReport>> {
    return this.get('/z-report/current', shapes.parseCurrentZReport);
  }

  zReportStats(): Promise<CallResult<ZReportStats>> {
    return this.get('/z-report/stats', shapes.parseZReportStats);
  }

  sendUnsentReceipts(): Promise<CallResult<ResendResult>> {
    return this.post('/receipts/send-unsent', shapes.parseResendResult);
  }

  sendUnsentZReports(): Promise<CallResult<ResendResult>> {
    return this.post('/z-report/send-unsent', shapes.parseResendResult);
  }

  /** Extension: the stored registration of an Idempotency-Key. */
  findByKey(key: string): Promise<CallResult<SaleResponse>> {
    return this.get(`/receipts?key=${encodeURIComponent(key)}`, shapes.parseSaleResponse);
  }

  /** Extension: the stored registration with this sequence number. */
  findBySeq(seq: number): Promise<CallResult<SaleResponse>> {
    return this.get(`/receipts/${String(seq)}`, shapes.parseSaleResponse);
  }

  /** Opens the connection for POST /receipts and writes nothing yet. Never rejects. */
  async prepareReceipt(body: Buffer, idempotencyKey: string | null): Promise<Preparation> {
    const span = startSpan('register POST /receipts', { kind: 'client' });
    const call = { method: 'POST', path: '/receipts', body, idempotencyKey, confirmed: true } as const;
    const opening = await this.open(call, span);
    if (opening.kind === 'open') return { kind: 'ready', call: new PreparedReceipt(opening.call, this.limits, span) };
    span?.fail(opening.reason);
    span?.end();
    return opening;
  }

  /** Ends every connection; calls that are under way become unclear. */
  close(): void {
    this.transport.close();
  }

  /** Its place has been taken: calls under way end as they would have. */
  retire(): void {
    this.transport.retire();
  }

  private get<T>(path: string, parse: (body: unknown) => T | null): Promise<CallResult<T>> {
    return this.call({ method: 'GET', path }, parse);
  }

  private post<T>(path: string, parse: (body: unknown) => T | null): Promise<CallResult<T>> {
    return this.call({ method: 'POST', path, body: EMPTY_BODY }, parse);
  }

  private async call<T>(call: Call, parse: (body: unknown) => T | null): Promise<CallResult<T>> {
    const opening = await this.open(call);
    if (opening.kind === 'not_sent') return { kind: 'unreachable', reason: opening.reason };
    return judgeCall(await opening.call.send(this.callLimits, () => true), parse);
  }

  private open(
    { method, path, body, idempotencyKey = null, confirmed = false }: Call,
    span: Span | null = null,
  ): Promise<Opening> {
    return this.transport.open({
      ...{ method, path, confirmed, body: body ?? null },
      connectTimeoutMs: this.options.connectTimeoutMs ?? Math.min(this.options.timeoutMs, MAX_CONNECT_MS),
      headers: {
        'X-API-Key': this.options.apiKey,
        Accept: 'application/json',
        'Accept-Encoding': 'identity',
        ...(body && { 'Content-Type': 'application/json' }),
        ...(idempotencyKey !== null && { 'Idempotency-Key': idempotencyKey }),
        ...(span && { traceparent: writeTraceParent(span.context) }),
      },
    });
  }
}

class PreparedReceipt implements PreparedCall {
  constructor(
    private readonly call: OpenedCall,
    private readonly limits: ExchangeLimits,
    private readonly span: Span | null,
  ) {}

  async send(mayStillSend: () => boolean): Promise<SaleAnswer> {
    try {
      const answer = judgeSale(await this.call.send(this.limits, mayStillSend));
      this.span?.set({ answer: answer.kind });
      return answer;
    } finally {
      this.span?.end();
    }
  }

  abandon(): void {
    this.span?.fail('abandoned');
    this.span?.end();
    this.call.abandon();
  }
}
