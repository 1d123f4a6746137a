import { Agent as HttpAgent, type IncomingHttpHeaders } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Socket } from 'node:net';

/** How long an idle connection is trusted when the server gives no hint: below the 5 s that many servers have. */
const DEFAULT_IDLE_MS = 4_000;
/** A hint is used up to this long before its end: the server's clock began earlier than ours. */
const MARGIN_MS = 1_000;

/**
 * The kept connections of one device. A connection that the server may be about to close is never reused: a document
 * written into it would end as "maybe registered", and the lane would stop for nothing.
 */
export class KeepAlivePool {
  readonly agent: HttpAgent;
  private readonly usableUntilMs = new WeakMap<Socket, number>();

  /**
   * @param ca trusted certificate authority in PEM, when the register's certificate is not publicly trusted
   * @param monotonicMs clock of idle times
   */
  constructor(
    secure: boolean,
    ca?: string,
    private readonly monotonicMs: () => number = () => performance.now(),
  ) {
    const options = { keepAlive: true, scheduling: 'lifo' as const, maxFreeSockets: 4 };
    this.agent = secure ? new HttpsAgent({ ...options, ...(ca !== undefined && { ca }) }) : new HttpAgent(options);
  }

  /** Call when an answer has been read to its end. */
  noteIdle(socket: Socket, headers: IncomingHttpHeaders): void {
    const hint = /\btimeout=(\d{1,6})\b/.exec(String(headers['keep-alive'] ?? ''))?.[1];
    const idleMs = hint === undefined ? DEFAULT_IDLE_MS : Number(hint) * 1_000 - MARGIN_MS;
    this.usableUntilMs.set(socket, this.monotonicMs() + Math.min(idleMs, 60_000));
  }

  /** Call instead after an error: many servers close then without saying so, and what is asked next would be lost with the connection. */
  noteDoubtful(socket: Socket): void {
    this.usableUntilMs.delete(socket);
  }

  /** Call right before a request is made: closes the idle connections that must not be used any more. */
  dropStale(): void {
    const nowMs = this.monotonicMs();
    for (const sockets of Object.values(this.agent.freeSockets)) {
      if (!sockets) continue;
      const usable = sockets.filter((socket) => isUsable(socket) && (this.usableUntilMs.get(socket) ?? 0) > nowMs);
      const stale = sockets.filter((socket) => !usable.includes(socket));
      sockets.splice(0, sockets.length, ...usable);
      for (const socket of stale) socket.destroy();
    }
  }

  close(): void {
    this.agent.destroy();
  }

  /** Closes what is idle now, and every other connection at the end of its call. */
  retire(): void {
    this.agent.maxFreeSockets = 0;
    const idle = Object.values(this.agent.freeSockets).flatMap((sockets) => sockets ?? []);
    for (const socket of idle) socket.destroy();
  }
}

/** Still open in both directions, and the peer has not spoken out of turn. */
export function isUsable(socket: Socket): boolean {
  return !socket.destroyed && socket.writable && !socket.readableEnded && socket.readableLength === 0;
}
