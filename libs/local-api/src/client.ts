import type {
  CloseShiftResponse,
  CurrentZReport,
  FmInfo,
  LocalBranch,
  LocalBusiness,
  LocalStatus,
  OpenShiftResponse,
  ResendResult,
  SaleResponse,
  ZReportStats,
} from '#fiscal-domain';
import { judgeCall, judgeSale, type CallResult, type SaleAnswer } from './answers.js';
import { openExchange, type Exchange, type ExchangeLimits, type Opening } from './exchange.js';
import { KeepAlivePool } from './keep-alive.js';
import * as shapes from './shapes.js';

export interface LocalApiClientOptions {
  /** e.g. `http://192.168.1.20:8765` */
  baseUrl: string;
  apiKey: string;
  /** From the first byte of a request to the last byte of its answer. */
  timeoutMs: number;
  /** The same for every call but POST /receipts, which may wait for dead OFD servers. Default: `timeoutMs`. */
  callTimeoutMs?: number;
  /** Name resolution, TCP and TLS together. Default: the smaller of `timeoutMs` and 10 s. */
  connectTimeoutMs?: number;
  /** Default 2 MiB. */
  maxAnswerBytes?: number;
  /** Certificate authority of the register in PEM, when it is not a public one. */
  ca?: string;
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
}

/** Some builds refuse an empty body (facts/local-api.md "Calls"). */
const EMPTY_BODY = Buffer.from('{}');
const DEFAULT_MAX_ANSWER_BYTES = 2 * 1024 * 1024;
const MAX_CONNECT_MS = 10_000;

/**
 * Client of the local fiscal API of one register. Follows no redirect, repeats nothing, and tells "not one byte left"
 * apart from "unclear", which is what the lane's decisions rest on (design.md §5).
 */
export class LocalApiClient {
  private readonly base: URL;
  private readonly pool: KeepAlivePool;
  private readonly limits: ExchangeLimits;
  private readonly callLimits: ExchangeLimits;

  /** @throws TypeError when `baseUrl` is no http or https URL */
  constructor(private readonly options: LocalApiClientOptions) {
    this.base = new URL(options.baseUrl);
    if (this.base.protocol !== 'http:' && this.base.protocol !== 'https:') {
      throw new TypeError('the address of a register begins with http:// or https://');
    }
    this.pool = new KeepAlivePool(this.base.protocol === 'https:', options.ca);
    this.limits = {
      timeoutMs: options.timeoutMs,
      maxAnswerBytes: options.maxAnswerBytes ?? DEFAULT_MAX_ANSWER_BYTES,
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
    const opening = await this.open({ method: 'POST', path: '/receipts', body, idempotencyKey });
    if (opening.kind === 'not_sent') return opening;
    return { kind: 'ready', call: new PreparedReceipt(opening.exchange, body, this.limits) };
  }

  /** Ends every connection; calls that are under way become unclear. */
  close(): void {
    this.pool.close();
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
    return judgeCall(await opening.exchange.send(call.body ?? null, this.callLimits, () => true), parse);
  }

  private open({ method, path, body, idempotencyKey = null }: Call): Promise<Opening> {
    const { hostname, port, protocol, pathname } = this.base;
    return openExchange({
      secure: protocol === 'https:',
      pool: this.pool,
      connectTimeoutMs: this.options.connectTimeoutMs ?? Math.min(this.options.timeoutMs, MAX_CONNECT_MS),
      options: {
        method,
        host: hostname.replace(/^\[(.*)\]$/, '$1'),
        port: port === '' ? undefined : Number(port),
        path: `${pathname.replace(/\/+$/, '')}${path}`,
        headers: {
          'X-API-Key': this.options.apiKey,
          Accept: 'application/json',
          'Accept-Encoding': 'identity',
          ...(body && { 'Content-Type': 'application/json', 'Content-Length': String(body.length) }),
          ...(idempotencyKey !== null && { 'Idempotency-Key': idempotencyKey }),
        },
      },
    });
  }
}

class PreparedReceipt implements PreparedCall {
  constructor(
    private readonly exchange: Exchange,
    private readonly body: Buffer,
    private readonly limits: ExchangeLimits,
  ) {}

  async send(mayStillSend: () => boolean): Promise<SaleAnswer> {
    return judgeSale(await this.exchange.send(this.body, this.limits, mayStillSend));
  }

  abandon(): void {
    this.exchange.abandon();
  }
}
