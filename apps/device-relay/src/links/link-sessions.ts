import { setTimeout as delay } from 'node:timers/promises';
import type { WebSocket } from 'ws';
import type { LocalApiTransport, Opening, TransportRequest } from '#local-api';
import { CLOSE, RegisterLink } from '#link';
import type { Clock, Logger } from '#runtime';
import type { ForwardedCalls } from './forwarded-calls.js';
import type { LinkRepository } from './link.repository.js';

/** How often each end asks the other for a sign of life. */
export const HEARTBEAT_MS = 20_000;
/** Between two checks whether a link's last call has ended. */
const DRAIN_EVERY_MS = 50;
const SILENCE_MS = 2.5 * HEARTBEAT_MS;

const OTHER_KEY: Opening = { kind: 'not_sent', reason: 'link_of_another_key' };

/** A register that has proven itself. */
interface Accepted {
  deviceId: string;
  epoch: bigint;
  linkKeyId: string;
  takesTrace: boolean;
}

/**
 * The links that this relay holds, and the way to those that others hold. One timer and one LISTEN for all: an idle link
 * costs its socket and nothing else.
 */
export class LinkSessions {
  private readonly links = new Map<string, RegisterLink>();
  /** The keys with which their registers proved themselves. */
  private readonly keyIds = new WeakMap<RegisterLink, string>();
  private readonly onLinked: ((deviceId: string) => void)[] = [];
  private beating: NodeJS.Timeout | undefined;
  private draining = false;

  constructor(
    private readonly presence: LinkRepository,
    private readonly forwarded: ForwardedCalls,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  get size(): number {
    return this.links.size;
  }

  get callsInFlight(): number {
    return [...this.links.values()].reduce((sum, link) => sum + link.callsInFlight, 0);
  }

  /** Called with a device's id whenever its link is up. */
  whenLinked(listener: (deviceId: string) => void): void {
    this.onLinked.push(listener);
  }

  start(): void {
    this.beating = setInterval(() => {
      for (const link of this.links.values()) link.beat(SILENCE_MS);
    }, HEARTBEAT_MS);
  }

  /** An accepted register's socket becomes its link; an older one of the same register here ends. */
  add(socket: WebSocket, { deviceId, epoch, linkKeyId, takesTrace }: Accepted): void {
    const before = this.links.get(deviceId);
    // Two handshakes of one register may end here in another order than in the database.
    if (before && before.epoch > epoch) {
      socket.close(CLOSE.superseded, 'superseded by a newer link');
      return;
    }
    const onClosed = (ended: RegisterLink): void => void this.remove(ended);
    const tools = { clock: this.clock, logger: this.logger };
    const link = new RegisterLink(socket, { deviceId, epoch, takesTrace, onClosed, ...tools });
    this.keyIds.set(link, linkKeyId);
    this.links.set(deviceId, link);
    before?.cut(CLOSE.superseded, 'superseded by a newer link');
    for (const listener of this.onLinked) listener(deviceId);
  }

  /** The link of this device as it is held here, with this epoch; null when it is not. */
  held(deviceId: string, epoch: bigint): RegisterLink | null {
    const link = this.links.get(deviceId);
    return link?.isOpen && link.epoch === epoch && !this.draining ? link : null;
  }

  /**
   * The way to a register that dials in, whichever relay holds its link. The API key in a request was read beside the link key
   * that was in force then: a register that was enrolled since has its own, and is not given the one before.
   */
  transportTo(deviceId: string, linkKeyId: string | null): LocalApiTransport {
    return {
      open: (request) => this.open({ deviceId, linkKeyId }, request),
      // The link belongs to the register, not to its caller.
      close: () => undefined,
      retire: () => undefined,
    };
  }

  /**
   * Reads the rows of these links, or of all that are held here, and cuts what is revoked or held by another relay.
   * Called on every notice, and for all when notices may have been lost.
   */
  async verify(deviceIds?: readonly string[]): Promise<void> {
    const held = [...this.links.values()].filter(({ deviceId }) => !deviceIds || deviceIds.includes(deviceId));
    for (const { deviceId, epoch, reason } of await this.presence.findEnded(held)) {
      const link = this.links.get(deviceId);
      if (link?.epoch === epoch) link.cut(CLOSE[reason], reason);
    }
  }

  /** No call is taken any more; each link ends with its last call, so that its register dials another relay. */
  async drain(deadlineMs: number): Promise<void> {
    this.draining = true;
    const endMs = this.clock.monotonicMs() + deadlineMs;
    for (;;) {
      for (const link of this.links.values()) if (link.isOpen && link.callsInFlight === 0) link.close();
      if (this.links.size === 0 || this.clock.monotonicMs() >= endMs) return;
      await delay(DRAIN_EVERY_MS);
    }
  }

  async stop(): Promise<void> {
    clearInterval(this.beating);
    for (const link of this.links.values()) link.close();
    await this.presence
      .leaveAll()
      .catch((error: unknown) => this.logger.warn({ err: error }, 'presence is left as it was'));
  }

  private async open(
    { deviceId, linkKeyId }: { deviceId: string; linkKeyId: string | null },
    request: TransportRequest,
  ): Promise<Opening> {
    const link = this.links.get(deviceId);
    if (link?.isOpen) return this.keyIds.get(link) === linkKeyId ? link.open(request) : OTHER_KEY;
    try {
      const holder = await this.presence.holderOf(deviceId);
      if (!holder || holder.relayId === this.presence.host.relayId) return { kind: 'not_sent', reason: 'link_absent' };
      if (holder.linkKeyId !== linkKeyId) return OTHER_KEY;
      return await this.forwarded.open({ deviceId, holder }, request);
    } catch (error) {
      // Nothing was handed to anybody.
      this.logger.warn({ err: error, device_id: deviceId }, 'the holder of a link could not be found');
      return { kind: 'not_sent', reason: 'link_holder_unknown' };
    }
  }

  private async remove(link: RegisterLink): Promise<void> {
    const { deviceId, epoch } = link;
    if (this.links.get(deviceId) === link) this.links.delete(deviceId);
    try {
      await this.presence.leave(deviceId, epoch);
    } catch (error) {
      // The row keeps naming us: a caller that hands a call in gets the answer that there is no such link.
      this.logger.warn({ err: error, device_id: deviceId }, 'presence of an ended link is left as it was');
    }
  }
}
