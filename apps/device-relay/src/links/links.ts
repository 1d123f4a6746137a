import type { FastifyInstance } from 'fastify';
import { observePools, PrismaService, sessionsAt, transactionsAt } from '#database';
import { relayIdentityOf } from '#link';
import type { LocalApiTransport } from '#local-api';
import { CidrSet } from '#outgoing';
import { newId, systemClock, type Logger, type Metrics } from '#runtime';
import type { RelaySettings } from '../settings.js';
import { ForwardAuth } from './forward-auth.js';
import { ForwardDesk } from './forward-desk.js';
import { ForwardedCalls } from './forwarded-calls.js';
import { LinkEndpoint } from './link-endpoint.js';
import { LinkNotices } from './link-notices.js';
import { LinkSessions } from './link-sessions.js';
import { LinkRepository, type LinkHost } from './link.repository.js';
import { relayUrlOf } from './own-url.js';

/** Registers that dial in, joined: the endpoint, the links held here, and the way to those that other relays hold. */
export class Links {
  constructor(
    private readonly sessions: LinkSessions,
    private readonly repository: LinkRepository,
    private readonly notices: LinkNotices,
    private readonly desk: ForwardDesk,
    private readonly endpoint: LinkEndpoint,
    private readonly release: () => Promise<void>,
  ) {}

  /** Number of links that this relay holds. */
  get size(): number {
    return this.sessions.size;
  }

  /** Who this relay is to other relays. */
  get host(): LinkHost {
    return this.repository.host;
  }

  /** Whether it has begun to receive revocations. */
  get hasListened(): boolean {
    return this.notices.hasListened;
  }

  /** Called with a device's id whenever its link is up, after its lane was made due. */
  whenLinked(listener: (deviceId: string) => void): void {
    this.sessions.whenLinked(listener);
  }

  transportTo(deviceId: string, linkKeyId: string | null): LocalApiTransport {
    return this.sessions.transportTo(deviceId, linkKeyId);
  }

  /** A lane that waits because its register was away is due now. */
  wakeLane(deviceId: string): Promise<boolean> {
    return this.repository.wakeLane(deviceId);
  }

  /** Before the server listens. */
  attach(fastify: FastifyInstance): void {
    this.desk.attach(fastify);
    this.endpoint.attach(fastify.server);
    // The server waits for every socket, also for those that became links.
    fastify.addHook('preClose', async () => {
      this.endpoint.close();
      await this.sessions.stop();
    });
  }

  start(): void {
    this.sessions.start();
    this.notices.start();
  }

  /** Before the server closes: calls of other relays over links held here end, no register is let in any more. */
  drain(deadlineMs: number): Promise<void> {
    this.endpoint.close();
    return this.sessions.drain(deadlineMs);
  }

  /** After the server has closed. */
  async stop(): Promise<void> {
    await this.notices.stop();
    await this.release();
  }
}

export function joinLinks(settings: RelaySettings, metrics: Metrics, logger: Logger): Links {
  const { LINK_POOL_SIZE, SECRETS_KEY, LINK_PUBLIC_URL, TRUSTED_PROXIES } = settings;
  const host = { relayId: newId('rly'), relayUrl: relayUrlOf(settings) };
  // Of their own: a thousand registers that come back together must not take the lanes' connections from them.
  const prisma = new PrismaService({
    ...{
      ...transactionsAt(settings),
      poolSize: LINK_POOL_SIZE,
      applicationName: 'device-relay-links',
      lockTimeoutMs: 5_000,
    },
  });
  const handshakes = metrics.counter({
    name: 'link_handshakes_total',
    help: 'Registers that dialled in, by how it ended',
    labels: ['outcome'],
  });
  const forwards = metrics.counter({
    name: 'link_forwarded_calls_total',
    help: 'Calls handed to the relay that holds the link of their register',
  });
  observePools(metrics, { links: prisma });
  const repository = new LinkRepository(prisma, host);
  const auth = new ForwardAuth(SECRETS_KEY, systemClock);
  const forwarded = new ForwardedCalls(auth, () => forwards.inc());
  const sessions = new LinkSessions(repository, forwarded, systemClock, logger);
  metrics.gauge({ name: 'link_sessions', help: 'Links of registers that this relay holds' }, (gauge) =>
    gauge.set(sessions.size),
  );
  metrics.gauge({ name: 'link_calls_in_flight', help: 'Calls under way on the links held here' }, (gauge) =>
    gauge.set(sessions.callsInFlight),
  );
  const relay = relayIdentityOf(LINK_PUBLIC_URL);
  const notices = new LinkNotices({ databaseUrl: sessionsAt(settings) }, sessions, logger);
  const desk = new ForwardDesk(host.relayId, auth, sessions, logger);
  const endpoint = new LinkEndpoint(repository, sessions, {
    relay,
    logger,
    proxies: new CidrSet(TRUSTED_PROXIES),
    count: (outcome) => handshakes.inc({ outcome }),
  });
  return new Links(sessions, repository, notices, desk, endpoint, () => {
    forwarded.close();
    return prisma.$disconnect();
  });
}
