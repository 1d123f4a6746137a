import { LRUCache } from 'lru-cache';
import { HttpTransport, type ExchangeLimits, type Opening, type RawAnswer, type TransportRequest } from '#local-api';
import { decodeFrame, encodeFrame, MAX_MESSAGE_BYTES, readAnswer } from '#link';
import type { ForwardAuth } from './forward-auth.js';
import type { LinkHolder } from './link.repository.js';

export const FORWARD_PATH = '/internal/link-calls';
export const FORWARD_AUTH_HEADER = 'x-link-auth';
export const FORWARD_MEDIA_TYPE = 'application/octet-stream';

/** Another relay is near; one that does not take a connection at once is gone. */
const CONNECT_TIMEOUT_MS = 2_000;
/** The other relay ends a call by the same limits; this is for one that says nothing. */
const GRACE_MS = 4_000;
const MAX_RELAYS = 64;

interface Target {
  deviceId: string;
  holder: LinkHolder;
}

/**
 * Hands calls to the relay that holds a register's link (docs/adr/0010-links.md). Each is handed over once: what left for
 * the other relay and brought no answer is unclear, like anything else that was sent.
 */
export class ForwardedCalls {
  private readonly relays = new LRUCache<string, HttpTransport>({
    max: MAX_RELAYS,
    dispose: (transport) => transport.retire(),
  });

  constructor(
    private readonly auth: ForwardAuth,
    private readonly count: () => void,
  ) {}

  /** Confirmed: the other relay's link has an open connection to the register. Else nothing has happened yet. */
  async open(target: Target, request: TransportRequest): Promise<Opening> {
    this.count();
    return request.confirmed ? this.openConfirmed(target, request) : this.openLate(target, request);
  }

  close(): void {
    for (const transport of this.relays.values()) transport.close();
    this.relays.clear();
  }

  private openLate(target: Target, request: TransportRequest): Opening {
    const send = (limits: ExchangeLimits, mayStillSend: () => boolean): Promise<RawAnswer> => {
      const frame = encodeFrame({ type: 'call', ...this.wordsOf(target, request), limits }, request.body);
      return this.handOver(target.holder, frame, {
        timeoutMs: limits.timeoutMs + request.connectTimeoutMs + GRACE_MS,
        mayStillSend,
      });
    };
    return { kind: 'open', call: { send, abandon: () => undefined } };
  }

  private async openConfirmed({ deviceId, holder }: Target, request: TransportRequest): Promise<Opening> {
    const frame = encodeFrame({ type: 'open', ...this.wordsOf({ deviceId, holder }, request) }, request.body);
    const raw = await this.post(holder, frame, {
      timeoutMs: request.connectTimeoutMs + GRACE_MS,
      mayStillSend: () => true,
    });
    if (raw.kind === 'not_sent') return raw;
    if (raw.kind === 'failed') return { kind: 'not_sent', reason: `relay_${raw.reason}` };
    const reply = decodeFrame(raw.body);
    const callId = reply?.header['type'] === 'ready' ? reply.header['callId'] : null;
    if (typeof callId === 'string') return { kind: 'open', call: this.readyCall(holder, callId) };
    const answer = reply && readAnswer(reply);
    // The receipt was with the other relay, and is with it still: it gives it to the register only on request.
    return { kind: 'not_sent', reason: answer?.kind === 'not_sent' ? answer.reason : `relay_${raw.httpStatus}` };
  }

  private readyCall(holder: LinkHolder, callId: string): Extract<Opening, { kind: 'open' }>['call'] {
    return {
      send: (limits, mayStillSend) =>
        this.handOver(holder, encodeFrame({ type: 'send', callId, limits }), {
          timeoutMs: limits.timeoutMs + GRACE_MS,
          mayStillSend,
        }),
      // Lost: the other relay gives it up by itself.
      abandon: () =>
        void this.post(holder, encodeFrame({ type: 'cancel', callId }), {
          timeoutMs: GRACE_MS,
          mayStillSend: () => true,
        }),
    };
  }

  private async handOver(holder: LinkHolder, frame: Buffer, sending: Sending): Promise<RawAnswer> {
    const raw = await this.post(holder, frame, sending);
    if (raw.kind !== 'answered') return raw;
    const reply = raw.httpStatus === 200 ? decodeFrame(raw.body) : null;
    return (reply && readAnswer(reply)) ?? { kind: 'failed', reason: 'unreadable', httpStatus: raw.httpStatus };
  }

  private async post(holder: LinkHolder, frame: Buffer, { timeoutMs, mayStillSend }: Sending): Promise<RawAnswer> {
    const opening = await this.transportTo(holder.relayUrl).open({
      method: 'POST',
      path: FORWARD_PATH,
      headers: { 'Content-Type': FORWARD_MEDIA_TYPE, [FORWARD_AUTH_HEADER]: this.auth.sign(holder.relayId, frame) },
      body: frame,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
      confirmed: true,
    });
    if (opening.kind === 'not_sent') return { kind: 'not_sent', reason: `relay_${opening.reason}` };
    return opening.call.send({ timeoutMs, maxAnswerBytes: MAX_MESSAGE_BYTES }, mayStillSend);
  }

  private wordsOf({ deviceId, holder }: Target, request: TransportRequest): object {
    const { method, path, headers, connectTimeoutMs } = request;
    return { deviceId, epoch: String(holder.epoch), head: { method, path, headers, connectTimeoutMs } };
  }

  private transportTo(relayUrl: string): HttpTransport {
    const known = this.relays.get(relayUrl);
    if (known) return known;
    const made = new HttpTransport({ baseUrl: relayUrl });
    this.relays.set(relayUrl, made);
    return made;
  }
}

interface Sending {
  timeoutMs: number;
  mayStillSend: () => boolean;
}
