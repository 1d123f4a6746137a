import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { HttpTransport } from '#local-api';
import type { Logger } from '#runtime';
import { CLOSE, decodeFrame, encodeFrame, LINK_LIMITS, LINK_PROTOCOL, MAX_MESSAGE_BYTES } from './frames.js';
import { answerChallenge, readChallenge, readVerdict, relayIdentityOf, type LinkRefusal } from './handshake.js';
import { LinkKeys } from './link-keys.js';
import type { LinkTarget } from './link-url.js';
import { readToRegister } from './frames.js';
import { ServedCalls } from './served-calls.js';

export interface LinkAgentOptions {
  target: LinkTarget;
  /** The one register that the link leads to. */
  registerUrl: string;
  /** Where the key is kept. */
  dataDir: string;
  enrolmentCode?: string | undefined;
  logger: Logger;
  /** Pauses between tries, milliseconds; the last one repeats. */
  pausesMs?: readonly number[];
}

/** How one try ended. */
type Ended =
  | { kind: 'refused'; reason: LinkRefusal }
  | { kind: 'closed'; code: number; reason: string; wasAccepted: boolean }
  | { kind: 'failed'; reason: string };

const PAUSES_MS = [500, 1_000, 2_000, 5_000, 10_000, 30_000];
/** What waiting does not mend: a person must act, or another agent holds this key. */
const LONG_PAUSE_MS = 60_000;
const CONNECT_TIMEOUT_MS = 10_000;
/** A relay from which nothing came for this many heartbeats is gone. */
const SILENT_BEATS = 2.5;

/**
 * The register's end of a link: dials out, proves itself, serves calls, and dials again whenever the link ends, after a
 * pause that grows and is drawn by chance, so that a thousand registers do not come back at the same moment.
 */
export class LinkAgent {
  private readonly keys: LinkKeys;
  private readonly stopping = new AbortController();
  private socket: WebSocket | null = null;
  private running: Promise<void> = Promise.resolve();
  private failures = 0;
  private linked = false;

  /** @throws LinkKeyError */
  constructor(private readonly options: LinkAgentOptions) {
    this.keys = new LinkKeys(options.dataDir, options.target.deviceId, options.enrolmentCode);
  }

  get isLinked(): boolean {
    return this.linked;
  }

  start(): void {
    this.running = this.keepLinked();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.socket?.close(CLOSE.restart, 'the register stops');
    const hard = setTimeout(() => this.socket?.terminate(), 1_000);
    await this.running;
    clearTimeout(hard);
  }

  private async keepLinked(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      const ended = await this.link();
      this.linked = false;
      if (signal.aborted) return;
      const pauseMs = this.pauseAfter(ended);
      this.options.logger.warn({ ...ended, pause_ms: pauseMs }, 'no link');
      // Ended early by `stop`.
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Between half and all of the next pause. */
  private pauseAfter(ended: Ended): number {
    const pauses = this.options.pausesMs ?? PAUSES_MS;
    const accepted = ended.kind === 'closed' && ended.wasAccepted;
    if (accepted) this.failures = 0;
    const next = pauses[Math.min(this.failures, pauses.length - 1)] ?? LONG_PAUSE_MS;
    this.failures += 1;
    const isFinal = ended.kind === 'closed' && ended.code === CLOSE.superseded;
    const base = isFinal || this.isHopeless(ended) ? Math.max(LONG_PAUSE_MS, next) : next;
    return Math.round(base * (0.5 + Math.random() / 2));
  }

  private isHopeless(ended: Ended): boolean {
    if (ended.kind !== 'refused' || ended.reason === 'busy') return false;
    const isAboutCode = ended.reason.startsWith('code_') || ended.reason === 'key_taken';
    if (!isAboutCode) return true;
    this.options.logger.error({ reason: ended.reason }, 'the enrolment code is refused: ask for a new one');
    // The code is worth nothing, an older key may still be.
    return !this.keys.dropCode();
  }

  /** Not written down: the next start shows code and key again, and the relay recognises the key. */
  private keepKey(): void {
    try {
      this.keys.accept();
    } catch (error) {
      this.options.logger.error({ err: error }, 'the link key could not be put in place');
    }
  }

  private link(): Promise<Ended> {
    const key = this.keys.usable;
    if (!key) {
      return Promise.resolve({ kind: 'failed', reason: 'there is no key yet: set LINK_ENROLMENT_CODE' });
    }
    return new Promise((resolve) => {
      const socket = new WebSocket(this.options.target.url, LINK_PROTOCOL, {
        handshakeTimeout: CONNECT_TIMEOUT_MS,
        maxPayload: MAX_MESSAGE_BYTES - LINK_LIMITS.answerBytes + LINK_LIMITS.requestBytes,
        perMessageDeflate: false,
        followRedirects: false,
      });
      this.socket = socket;
      if (this.stopping.signal.aborted) socket.terminate();
      const session = new AgentSession(socket, this.options, {
        answer: (challenge) => answerChallenge(challenge, { deviceId: this.options.target.deviceId, ...key }),
        accepted: () => {
          this.keepKey();
          this.linked = true;
          this.options.logger.info({ relay: relayIdentityOf(this.options.target.url) }, 'linked');
        },
        ended: resolve,
      });
      session.begin();
    });
  }
}

interface SessionEvents {
  answer: (challenge: Parameters<typeof answerChallenge>[0]) => object;
  accepted: () => void;
  ended: (ended: Ended) => void;
}

/** One connection, from dialling to its end. */
class AgentSession {
  private calls: ServedCalls | null = null;
  private challenged = false;
  private refusal: LinkRefusal | null = null;
  private failure: string | null = null;
  private lastReceivedMs = performance.now();
  private watch: NodeJS.Timeout | undefined;

  constructor(
    private readonly socket: WebSocket,
    private readonly options: LinkAgentOptions,
    private readonly events: SessionEvents,
  ) {}

  begin(): void {
    const { socket } = this;
    const patience = setTimeout(() => this.cut(CLOSE.tooSlow, 'the relay did not greet'), CONNECT_TIMEOUT_MS);
    socket.on('error', (error) => (this.failure = error.message));
    socket.on('ping', () => this.noteLife());
    socket.on('message', (data, isBinary) => {
      this.noteLife();
      if (socket.readyState === socket.OPEN) this.receive(data as Buffer, isBinary);
      if (this.calls) clearTimeout(patience);
    });
    socket.on('close', (code, reason) => {
      clearTimeout(patience);
      clearInterval(this.watch);
      this.calls?.end();
      this.events.ended(this.endOf(code, reason.toString('utf8')));
    });
  }

  private endOf(code: number, reason: string): Ended {
    if (this.refusal) return { kind: 'refused', reason: this.refusal };
    if (this.calls) return { kind: 'closed', code, reason, wasAccepted: true };
    if (this.failure !== null) return { kind: 'failed', reason: this.failure };
    return { kind: 'closed', code, reason, wasAccepted: false };
  }

  private receive(data: Buffer, isBinary: boolean): void {
    const frame = isBinary ? decodeFrame(data) : null;
    if (!frame) return this.cut(CLOSE.malformed, 'a frame cannot be read');
    if (!this.calls) return this.greet(frame.header);
    const call = readToRegister(frame);
    if (!call) return this.cut(CLOSE.malformed, 'a frame cannot be read');
    this.calls.receive(call, frame.body);
  }

  private greet(header: Parameters<typeof readChallenge>[0]): void {
    if (!this.challenged) {
      const challenge = readChallenge(header);
      if (!challenge) return this.cut(CLOSE.malformed, 'the relay did not greet');
      const dialled = relayIdentityOf(this.options.target.url);
      // A relay in the middle would show us the challenge of the real one.
      if (challenge.relay !== dialled) {
        this.failure = `the relay calls itself ${challenge.relay}, LINK_URL says ${dialled}`;
        this.socket.terminate();
        return;
      }
      this.challenged = true;
      this.socket.send(encodeFrame(this.events.answer(challenge)));
      return;
    }
    const verdict = readVerdict(header);
    if (verdict?.type === 'refused') {
      this.refusal = verdict.reason;
      this.socket.close(CLOSE.refused);
    } else if (verdict) this.serve(verdict.heartbeatMs);
    else this.cut(CLOSE.malformed, 'the relay gave no verdict');
  }

  private serve(heartbeatMs: number): void {
    const { socket, options } = this;
    this.calls = new ServedCalls({
      transport: new HttpTransport({ baseUrl: options.registerUrl }),
      write: (frame) => socket.send(frame),
      violate: (code, reason) => this.cut(CLOSE[code], reason),
    });
    const silenceMs = heartbeatMs * SILENT_BEATS;
    this.watch = setInterval(() => {
      if (performance.now() - this.lastReceivedMs > silenceMs) socket.terminate();
    }, heartbeatMs);
    this.events.accepted();
  }

  private cut(code: number, reason: string): void {
    this.options.logger.error({ code, reason }, 'link cut');
    this.failure ??= reason;
    this.calls?.end();
    this.socket.close(code, reason);
    setTimeout(() => this.socket.terminate(), 1_000).unref();
  }

  private noteLife(): void {
    this.lastReceivedMs = performance.now();
  }
}
