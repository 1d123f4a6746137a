import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import { CLOSE, giveVerdict, greetRegister, LINK_LIMITS, LINK_PROTOCOL, MAX_MESSAGE_BYTES } from '#link';
import { hasSeveralHosts, type CidrSet, type Logger } from '#runtime';
import { HEARTBEAT_MS, type LinkSessions } from './link-sessions.js';
import type { LinkRepository } from './link.repository.js';

export const LINK_PATH = '/link';
const HANDSHAKE_TIMEOUT_MS = 10_000;
/** Strangers at the door at the same time; registers that find it shut come back after a pause. */
const MAX_HANDSHAKES = 200;
/** Of them from one address: nobody can hold the whole door shut. Proxies of ours stand for many. */
const MAX_HANDSHAKES_PER_ADDRESS = 50;
/** Admissions at the same time: a thousand registers that come back together must not take every database connection. */
const MAX_ADMISSIONS = 3;

export interface LinkDoorOptions {
  /** Host under which registers dial this relay (LINK_PUBLIC_URL). */
  relay: string;
  /** Peers that many registers come through (TRUSTED_PROXIES); not counted by address. */
  proxies: CidrSet;
  logger: Logger;
  count: (outcome: string) => void;
}

/**
 * Where registers dial in: WebSocket upgrades on the relay's own port, the handshake, the verdict. Until a register has
 * proven who it is, it costs a bounded number of bytes and seconds.
 */
export class LinkDoor {
  private readonly sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
    clientTracking: false,
    handleProtocols: () => LINK_PROTOCOL,
  });
  private handshakes = 0;
  private readonly handshakesOf = new Map<string, number>();
  private admissions = 0;
  private readonly waiting: (() => void)[] = [];
  private closed = false;

  constructor(
    private readonly repository: LinkRepository,
    private readonly sessions: LinkSessions,
    private readonly options: LinkDoorOptions,
  ) {}

  attach(server: Server): void {
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      const refusal = this.refusalOf(request);
      if (refusal === null)
        this.sockets.handleUpgrade(
          request,
          socket,
          head,
          (link) => void this.welcome(link, socket, addressOf(request)),
        );
      else socket.end(`HTTP/1.1 ${refusal}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
    });
  }

  close(): void {
    this.closed = true;
  }

  private refusalOf(request: IncomingMessage): string | null {
    const { url = '', headers } = request;
    if (hasSeveralHosts(request.rawHeaders)) return '400 Bad Request';
    if (url.split('?', 1)[0] !== LINK_PATH) return '404 Not Found';
    const offered = String(headers['sec-websocket-protocol'] ?? '').split(',');
    if (!offered.some((protocol) => protocol.trim() === LINK_PROTOCOL)) return '400 Bad Request';
    if (this.closed || this.handshakes >= MAX_HANDSHAKES) return '503 Service Unavailable';
    if (this.isCrowded(addressOf(request))) return '503 Service Unavailable';
    return null;
  }

  private isCrowded(address: string): boolean {
    return (
      (this.handshakesOf.get(address) ?? 0) >= MAX_HANDSHAKES_PER_ADDRESS && !this.options.proxies.contains(address)
    );
  }

  private count(address: string, change: 1 | -1): void {
    this.handshakes += change;
    const ofAddress = (this.handshakesOf.get(address) ?? 0) + change;
    if (ofAddress === 0) this.handshakesOf.delete(address);
    else this.handshakesOf.set(address, ofAddress);
  }

  private async welcome(link: WebSocket, socket: Duplex, address: string): Promise<void> {
    this.count(address, 1);
    const stopCounting = boundBytes(socket);
    link.on('error', (error) => this.options.logger.debug({ err: error }, 'a link broke at the door'));
    try {
      await this.admit(link);
    } catch (error) {
      this.options.logger.error({ err: error }, 'a register could not be judged');
      link.close(CLOSE.restart, 'try again');
    } finally {
      stopCounting();
      this.count(address, -1);
    }
  }

  private async admit(link: WebSocket): Promise<void> {
    const { relay, logger, count } = this.options;
    const greeting = await greetRegister(link, { relay, timeoutMs: HANDSHAKE_TIMEOUT_MS });
    if (greeting.kind === 'failed') {
      count('failed');
      return logger.info({ reason: greeting.reason }, 'no handshake');
    }
    const deviceId = greeting.kind === 'proven' ? greeting.hello.deviceId : null;
    const admission =
      greeting.kind === 'proven' ? await this.inTurn(() => this.repository.admit(greeting.hello)) : greeting;
    if (admission.kind === 'refused') {
      count(admission.reason);
      logger.warn({ device_id: deviceId, reason: admission.reason }, 'link refused');
      return giveVerdict(link, { type: 'refused', reason: admission.reason });
    }
    if (deviceId === null) return;
    const { epoch, linkKeyId, enrolled, tookOverFrom } = admission;
    count(enrolled ? 'enrolled' : 'accepted');
    logger.info({ device_id: deviceId, epoch: String(epoch), enrolled, took_over_from: tookOverFrom }, 'linked');
    if (tookOverFrom !== null) await this.repository.tellChanged(deviceId);
    if (this.closed || link.readyState !== link.OPEN) {
      link.close(CLOSE.restart, 'the relay stops');
      return this.repository.leave(deviceId, epoch);
    }
    giveVerdict(link, { type: 'accepted', epoch: String(epoch), heartbeatMs: HEARTBEAT_MS });
    this.sessions.add(link, { deviceId, epoch, linkKeyId });
    // A revocation that was told between the admission and this moment found no link here to cut.
    await this.sessions.verify([deviceId]);
  }

  private async inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.admissions >= MAX_ADMISSIONS) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.admissions += 1;
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      if (next) next();
      else this.admissions -= 1;
    }
  }
}

/** A peer that has gone already has none. */
function addressOf({ socket }: IncomingMessage): string {
  return socket.remoteAddress ?? '';
}

/** A stranger that sends more than a handshake needs is cut at the socket, before a large message is gathered. */
function boundBytes(socket: Duplex): () => void {
  let bytes = 0;
  const onData = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > LINK_LIMITS.handshakeBytes) socket.destroy();
  };
  socket.on('data', onData);
  return () => socket.off('data', onData);
}
