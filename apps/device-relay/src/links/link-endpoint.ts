import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import { CLOSE, giveVerdict, greetRegister, LINK_LIMITS, LINK_PROTOCOL, MAX_MESSAGE_BYTES } from '#link';
import { hasSeveralHosts } from '#http';
import { type CidrSet } from '#outgoing';
import { FairSlots, type Logger } from '#runtime';
import { dialledFrom } from './dialled-from.js';
import { HEARTBEAT_MS, type LinkSessions } from './link-sessions.js';
import type { LinkRepository } from './link.repository.js';

export const LINK_PATH = '/link';
const HANDSHAKE_TIMEOUT_MS = 10_000;
/** Unfinished handshakes, by the address that dials; a register that is refused tries again after a pause. */
const HANDSHAKES = { total: 200, perKey: 50, reserved: 50 };
/** Admissions at the same time: a thousand registers that come back together must not take every database connection. */
const ADMISSIONS = { total: 3, perKey: 2, waitingPerKey: HANDSHAKES.perKey };

export interface LinkEndpointOptions {
  /** Host under which registers dial this relay (LINK_PUBLIC_URL). */
  relay: string;
  /** Peers whose `X-Forwarded-For` names the address that dials (TRUSTED_PROXIES). */
  proxies: CidrSet;
  logger: Logger;
  count: (outcome: string) => void;
}

/**
 * Where registers dial in: WebSocket upgrades on the relay's own port, the handshake, the verdict. Until a register has
 * proven who it is, it costs a bounded number of bytes and seconds.
 */
export class LinkEndpoint {
  private readonly sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
    clientTracking: false,
    handleProtocols: () => LINK_PROTOCOL,
  });
  private readonly handshakes = new FairSlots(HANDSHAKES);
  private readonly admissions = new FairSlots(ADMISSIONS);
  private closed = false;

  constructor(
    private readonly repository: LinkRepository,
    private readonly sessions: LinkSessions,
    private readonly options: LinkEndpointOptions,
  ) {}

  attach(server: Server): void {
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      // From here on the server does not listen to the socket's errors any more: a dialler that resets would end the program.
      socket.on('error', () => socket.destroy());
      const address = dialledFrom(request, this.options.proxies);
      const refusal = this.refusalOf(request);
      const release = refusal === null ? this.handshakes.tryTake(address) : null;
      if (!release) return refuse(socket, refusal ?? '503 Service Unavailable');
      // Where the upgrade itself fails.
      socket.once('close', release);
      this.sockets.handleUpgrade(request, socket, head, (link) => {
        socket.off('close', release);
        void this.welcome(link, socket, address).finally(release);
      });
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
    return this.closed ? '503 Service Unavailable' : null;
  }

  private async welcome(link: WebSocket, socket: Duplex, address: string): Promise<void> {
    const stopCounting = boundBytes(socket);
    link.on('error', (error) => this.options.logger.debug({ err: error }, 'a link broke at the endpoint'));
    try {
      await this.admit(link, address, stopCounting);
    } catch (error) {
      this.options.logger.error({ err: error }, 'a register could not be judged');
      link.close(CLOSE.restart, 'try again');
    } finally {
      stopCounting();
    }
  }

  /** @param letIn what bounds a stranger ends: from now on its answers are as large as those of any link */
  private async admit(link: WebSocket, address: string, letIn: () => void): Promise<void> {
    const { relay, logger, count } = this.options;
    const greeting = await greetRegister(link, { relay, timeoutMs: HANDSHAKE_TIMEOUT_MS });
    if (greeting.kind === 'failed') {
      count('failed');
      return logger.info({ reason: greeting.reason }, 'no handshake');
    }
    const deviceId = greeting.kind === 'proven' ? greeting.hello.deviceId : null;
    const admission =
      greeting.kind === 'proven'
        ? await this.admissions.run(address, () => this.repository.admit(greeting.hello), tooManyAdmissions)
        : greeting;
    if (admission.kind === 'refused') {
      count(admission.reason);
      logger.warn({ device_id: deviceId, reason: admission.reason }, 'link refused');
      return giveVerdict(link, { type: 'refused', reason: admission.reason });
    }
    if (deviceId === null) return;
    const { epoch, linkKeyId, enrolled, tookOverFrom } = admission;
    count(enrolled ? 'enrolled' : 'accepted');
    logger.info({ device_id: deviceId, epoch: String(epoch), enrolled, took_over_from: tookOverFrom }, 'linked');
    if (tookOverFrom !== null) await this.repository.notifyChanged(deviceId);
    if (this.closed || link.readyState !== link.OPEN) {
      link.close(CLOSE.restart, 'the relay stops');
      return this.repository.leave(deviceId, epoch);
    }
    letIn();
    giveVerdict(link, { type: 'accepted', epoch: String(epoch), heartbeatMs: HEARTBEAT_MS });
    const takesTrace = greeting.kind === 'proven' && greeting.hello.takesTrace === true;
    this.sessions.add(link, { deviceId, epoch, linkKeyId, takesTrace });
    // A revocation that was published between the admission and this moment found no link here to cut.
    await this.sessions.verify([deviceId]);
  }
}

function refuse(socket: Duplex, status: string): void {
  // `end` alone waits for the dialler to end its own side, which no limit of the server bounds any more.
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}

function tooManyAdmissions(): Error {
  return new Error('more admissions wait than there are handshakes');
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
