import type { ExchangeLimits, LocalApiTransport, OpenedCall, RawAnswer } from '#local-api';
import { refusalOfCall } from './allowed-calls.js';
import { encodeAnswer, encodeFrame, LINK_LIMITS, type CallHead, type ToRegister } from './frames.js';

type Served =
  | { state: 'opening'; cancelled: boolean }
  | { state: 'open'; call: OpenedCall; take: (body: Buffer) => void; bodyBytes: number; timer: NodeJS.Timeout }
  | { state: 'sent' };

/** Their requests cross our word within one round trip; older ones do not come any more. */
const MAX_EXPIRED = 1_000;

export interface ServedCallsOptions {
  /** Leads to the one register that this link is for. */
  transport: LocalApiTransport;
  write: (frame: Buffer) => void;
  /** The relay broke the rules of the link: it is cut. */
  violate: (code: 'malformed' | 'replayed', reason: string) => void;
}

/**
 * The register's end of a link: carries out what the relay asks, at its one register, each request at most once. A request
 * that was announced and comes too late, because the link hung, is dropped and answered as dropped; one that comes after
 * the link's end is never written.
 */
export class ServedCalls {
  private readonly calls = new Map<number, Served>();
  /** Announced, and given up for lateness: their request may be on its way. */
  private readonly expired = new Set<number>();
  private lastId = 0;
  private ended = false;

  constructor(private readonly options: ServedCallsOptions) {}

  receive(frame: ToRegister, body: Buffer): void {
    switch (frame.type) {
      case 'open':
        if (this.begin(frame.id, frame.head)) void this.open(frame);
        return;
      case 'call':
        if (this.begin(frame.id, frame.head)) void this.call(frame, body);
        return;
      case 'send':
        return this.send(frame, body);
      case 'cancel':
        return this.cancel(frame.id);
    }
  }

  /** The link is gone: nothing is written any more, and what is open is released. */
  end(): void {
    this.ended = true;
    for (const call of this.calls.values()) {
      if (call.state !== 'open') continue;
      clearTimeout(call.timer);
      call.call.abandon();
    }
    this.calls.clear();
    this.options.transport.close();
  }

  private begin(id: number, head: CallHead): boolean {
    if (id <= this.lastId) {
      this.options.violate('replayed', `call ${id} after call ${this.lastId}`);
      return false;
    }
    this.lastId = id;
    const reason = this.calls.size >= LINK_LIMITS.callsInFlight ? 'register_busy' : refusalOfCall(head);
    if (reason === null) this.calls.set(id, { state: 'opening', cancelled: false });
    else this.reply(id, { kind: 'not_sent', reason });
    return reason === null;
  }

  private async open({ id, head, bodyBytes, sendWithinMs }: Extract<ToRegister, { type: 'open' }>): Promise<void> {
    // The bytes are not here yet, their number is: the head that goes out with them says it.
    const body = Buffer.alloc(bodyBytes);
    const opening = await this.options.transport.open({ ...head, body, confirmed: true });
    const served = this.calls.get(id);
    if (opening.kind === 'not_sent') return this.finish(id, opening);
    if (this.ended || served?.state !== 'opening' || served.cancelled) {
      opening.call.abandon();
      return this.finish(id, { kind: 'not_sent', reason: 'abandoned' });
    }
    const timer = setTimeout(() => {
      opening.call.abandon();
      this.noteExpired(id);
      this.finish(id, { kind: 'not_sent', reason: 'too_late' });
    }, sendWithinMs);
    // The same memory that the transport was given.
    const take = (bytes: Buffer): void => void bytes.copy(body);
    this.calls.set(id, { state: 'open', call: opening.call, take, bodyBytes, timer });
    this.options.write(encodeFrame({ type: 'ready', id }));
  }

  private send({ id, limits }: Extract<ToRegister, { type: 'send' }>, body: Buffer): void {
    const served = this.calls.get(id);
    // It crossed our word that we gave it up.
    if (this.expired.delete(id)) return;
    if (served?.state !== 'open') return this.options.violate('replayed', `call ${id} is not open`);
    clearTimeout(served.timer);
    if (body.length !== served.bodyBytes) {
      served.call.abandon();
      return this.options.violate('malformed', `call ${id} was announced with ${served.bodyBytes} bytes`);
    }
    served.take(body);
    void this.exchange(id, served.call, limits);
  }

  private async call({ id, head, limits }: Extract<ToRegister, { type: 'call' }>, body: Buffer): Promise<void> {
    const given = head.method === 'GET' ? null : body;
    const opening = await this.options.transport.open({ ...head, body: given, confirmed: true });
    if (opening.kind === 'not_sent') return this.finish(id, opening);
    await this.exchange(id, opening.call, limits);
  }

  private async exchange(id: number, call: OpenedCall, limits: ExchangeLimits): Promise<void> {
    const served = this.calls.get(id);
    const isCancelled = served?.state === 'opening' && served.cancelled;
    this.calls.set(id, { state: 'sent' });
    this.finish(id, await call.send(limits, () => !this.ended && !isCancelled));
  }

  private noteExpired(id: number): void {
    this.expired.add(id);
    const [oldest] = this.expired;
    if (this.expired.size > MAX_EXPIRED && oldest !== undefined) this.expired.delete(oldest);
  }

  private cancel(id: number): void {
    this.expired.delete(id);
    const served = this.calls.get(id);
    // Our word of its end is on its way, or it is with the register and ends by its own limits.
    if (!served || served.state === 'sent') return;
    if (served.state === 'opening') {
      served.cancelled = true;
      return;
    }
    clearTimeout(served.timer);
    served.call.abandon();
    this.finish(id, { kind: 'not_sent', reason: 'abandoned' });
  }

  private finish(id: number, answer: RawAnswer): void {
    this.calls.delete(id);
    if (!this.ended) this.reply(id, answer);
  }

  private reply(id: number, answer: RawAnswer): void {
    this.options.write(encodeAnswer({ type: 'result', id }, answer));
  }
}
