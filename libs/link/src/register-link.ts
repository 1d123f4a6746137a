import type { WebSocket } from 'ws';
import type { ExchangeLimits, LocalApiTransport, Opening, OpenedCall, RawAnswer, TransportRequest } from '#local-api';
import type { Clock, Logger } from '#runtime';
import { CLOSE, decodeFrame, encodeFrame, LINK_LIMITS, readFromRegister, type CallHead } from './frames.js';

/** How long a register may hold an open connection for a request that was announced: the relay's guard allows one second. */
const SEND_WITHIN_MS = 5_000;
/** The register's own limits end a call; these are for a register that says nothing. */
const GRACE_MS = 2_000;

export interface RegisterLinkOptions {
  deviceId: string;
  epoch: bigint;
  clock: Clock;
  logger: Logger;
  onClosed: (link: RegisterLink) => void;
  /** The register's end passes `traceparent` on. */
  takesTrace?: boolean;
}

/** Gives the call the answer of the register, or the end of the link. */
interface Waiting {
  ready(): void;
  end(answer: RawAnswer | { kind: 'lost' }): void;
}

/**
 * The relay's end of one register's link, after the handshake: carries calls and their answers, several at a time. What
 * was handed to the socket when the link ends is unclear, exactly as with a connection that was reset; nothing is ever
 * sent a second time.
 */
export class RegisterLink implements LocalApiTransport {
  readonly deviceId = this.options.deviceId;
  readonly epoch = this.options.epoch;
  private readonly calls = new Map<number, Waiting>();
  private lastId = 0;
  private lastReceivedMs: number;

  constructor(
    private readonly socket: WebSocket,
    private readonly options: RegisterLinkOptions,
  ) {
    this.lastReceivedMs = options.clock.monotonicMs();
    socket.on('message', (data, isBinary) => this.receive(data as Buffer, isBinary));
    socket.on('pong', () => this.noteLife());
    socket.on('ping', () => this.noteLife());
    socket.on('close', () => this.onClosed());
    // What the WebSocket itself refuses: a message that is too large, a broken frame. The close follows.
    socket.on('error', (error) => options.logger.warn({ err: error, device_id: this.deviceId }, 'link broken'));
  }

  get isOpen(): boolean {
    return this.socket.readyState === this.socket.OPEN;
  }

  get callsInFlight(): number {
    return this.calls.size;
  }

  async open(given: TransportRequest): Promise<Opening> {
    const request = this.options.takesTrace === true ? given : withoutTraceParent(given);
    const tooLarge = request.body !== null && request.body.length > LINK_LIMITS.requestBytes;
    const reason = tooLarge ? 'request_too_large' : (this.refusal() ?? this.busyRefusal());
    if (reason !== null) return { kind: 'not_sent', reason };
    const call = new LinkCall(request, {
      write: (frame) => this.write(frame),
      refusal: () => this.refusal(),
      busyRefusal: () => this.busyRefusal(),
      enter: (waiting) => this.enter(waiting),
    });
    return request.confirmed ? call.confirm() : { kind: 'open', call };
  }

  /** Call regularly: asks for a sign of life, and cuts a link that has given none for `silenceMs`. */
  beat(silenceMs: number): void {
    if (this.options.clock.monotonicMs() - this.lastReceivedMs > silenceMs) this.cut(CLOSE.silent, 'no sign of life');
    else if (this.isOpen) this.socket.ping();
  }

  /** Nothing goes over this link any more from this moment on. */
  cut(code: number, reason: string): void {
    if (this.socket.readyState === this.socket.CLOSED) return;
    this.options.logger.info({ device_id: this.deviceId, code, reason }, 'link cut');
    this.socket.close(code, reason);
    // The other end may be gone or unwilling: it gets no time to agree.
    setTimeout(() => this.socket.terminate(), 1_000).unref();
    this.endCalls();
  }

  close(): void {
    this.cut(CLOSE.restart, 'the relay stops');
  }

  /** The link belongs to the register: it stays for the next caller. */
  retire(): void {
    return;
  }

  private refusal(): string | null {
    if (!this.isOpen) return 'link_lost';
    return this.socket.bufferedAmount > LINK_LIMITS.bufferedBytes ? 'link_congested' : null;
  }

  private busyRefusal(): string | null {
    return this.calls.size >= LINK_LIMITS.callsInFlight ? 'link_busy' : null;
  }

  /** Numbers are given when the first frame leaves, so that they arrive in order: an older one is a replay. */
  private enter(waiting: Waiting): number {
    this.lastId += 1;
    this.calls.set(this.lastId, waiting);
    return this.lastId;
  }

  private write(frame: Buffer): void {
    // The close that follows a failed write ends the calls.
    this.socket.send(frame, (error) => {
      if (error) this.options.logger.debug({ err: error, device_id: this.deviceId }, 'a frame was not written');
    });
  }

  private receive(data: Buffer, isBinary: boolean): void {
    this.noteLife();
    // Frames that were still on their way when the link was cut prove nothing any more.
    if (!this.isOpen) return;
    const decoded = isBinary ? decodeFrame(data) : null;
    const frame = decoded && readFromRegister(decoded);
    if (!frame) return this.cut(CLOSE.malformed, 'a frame cannot be read');
    const call = this.calls.get(frame.id);
    // Each call has one result: a second one, or one of a call that never was, is no mistake of the network.
    if (!call) return this.cut(CLOSE.replayed, `call ${frame.id} is not under way`);
    if (frame.type === 'ready') return call.ready();
    this.calls.delete(frame.id);
    call.end(frame.answer);
  }

  private noteLife(): void {
    this.lastReceivedMs = this.options.clock.monotonicMs();
  }

  private onClosed(): void {
    this.endCalls();
    this.options.onClosed(this);
  }

  private endCalls(): void {
    const waiting = [...this.calls.values()];
    this.calls.clear();
    for (const call of waiting) call.end({ kind: 'lost' });
  }
}

interface Line {
  write(frame: Buffer): void;
  /** Why nothing may be handed to the socket now. */
  refusal(): string | null;
  /** Why no further call may begin now. */
  busyRefusal(): string | null;
  /** @returns the call's number */
  enter(waiting: Waiting): number;
}

/** One request on the relay's end: opened once, sent at most once, ended once. */
class LinkCall implements OpenedCall, Waiting {
  private state: 'new' | 'opening' | 'open' | 'sent' | 'ended' = 'new';
  /** What ended it before it was sent. */
  private lost: string | null = null;
  private timer: NodeJS.Timeout | undefined;
  private id = 0;
  private onReady: (opening: Opening) => void = () => undefined;
  private settle: (answer: RawAnswer) => void = () => undefined;

  constructor(
    private readonly request: TransportRequest,
    private readonly line: Line,
  ) {}

  /** Asks the register's end to connect; nothing of the request's body leaves. */
  confirm(): Promise<Opening> {
    return new Promise((resolve) => {
      this.state = 'opening';
      this.onReady = resolve;
      this.id = this.line.enter(this);
      const bodyBytes = this.request.body?.length ?? 0;
      const frame = { type: 'open', id: this.id, head: this.head(), bodyBytes, sendWithinMs: SEND_WITHIN_MS };
      this.line.write(encodeFrame(frame));
      this.timer = setTimeout(() => this.end(this.cancel('connect_timeout')), this.request.connectTimeoutMs + GRACE_MS);
    });
  }

  ready(): void {
    if (this.state !== 'opening') return;
    clearTimeout(this.timer);
    this.state = 'open';
    this.onReady({ kind: 'open', call: this });
  }

  send(limits: ExchangeLimits, mayStillSend: () => boolean): Promise<RawAnswer> {
    if (this.lost !== null) return Promise.resolve({ kind: 'not_sent', reason: this.lost });
    if (this.state !== 'open' && this.state !== 'new') throw new Error('a call is sent once');
    return new Promise((resolve, reject) => {
      let reason: string | null;
      try {
        reason = this.line.refusal() ?? (this.state === 'new' ? this.line.busyRefusal() : null);
        reason ??= mayStillSend() ? null : 'guard';
      } catch (error) {
        this.abandon();
        reject(error instanceof Error ? error : new Error(String(error)));
        return;
      }
      if (reason !== null) {
        this.abandon();
        resolve({ kind: 'not_sent', reason });
        return;
      }
      this.settle = resolve;
      this.handOver(limits);
    });
  }

  abandon(): void {
    if (this.state === 'open') this.cancel('abandoned');
    this.state = 'ended';
  }

  end(answer: RawAnswer | { kind: 'lost' }): void {
    clearTimeout(this.timer);
    const { state } = this;
    this.state = 'ended';
    if (state === 'sent') {
      this.settle(answer.kind === 'lost' ? { kind: 'failed', reason: 'reset' } : answer);
      return;
    }
    // Whatever the register says of a request that it was not given: it has nothing of it.
    this.lost = answer.kind === 'not_sent' ? answer.reason : 'link_lost';
    if (state === 'opening') this.onReady({ kind: 'not_sent', reason: this.lost });
  }

  private handOver(limits: ExchangeLimits): void {
    const { body, connectTimeoutMs } = this.request;
    const wasOpen = this.state === 'open';
    this.state = 'sent';
    if (wasOpen) this.line.write(encodeFrame({ type: 'send', id: this.id, limits }, body));
    else {
      this.id = this.line.enter(this);
      this.line.write(encodeFrame({ type: 'call', id: this.id, head: this.head(), limits }, body));
    }
    const longestMs = limits.timeoutMs + (wasOpen ? 0 : connectTimeoutMs) + GRACE_MS;
    this.timer = setTimeout(() => {
      this.cancel('timeout');
      this.end({ kind: 'failed', reason: 'timeout' });
    }, longestMs);
  }

  /** The call keeps its place until the register says how it ended, so that a hung register is not given more and more. */
  private cancel(reason: string): RawAnswer {
    if (this.line.refusal() === null) this.line.write(encodeFrame({ type: 'cancel', id: this.id }));
    return { kind: 'not_sent', reason };
  }

  private head(): CallHead {
    const { method, path, headers, connectTimeoutMs } = this.request;
    return { method, path, headers, connectTimeoutMs };
  }
}

function withoutTraceParent(request: TransportRequest): TransportRequest {
  const { traceparent: _unknownThere, ...headers } = request.headers;
  return { ...request, headers };
}
