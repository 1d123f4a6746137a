import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { relayUrlOf } from './links/own-url.js';
import type { RelaySettings } from './settings.js';

/** Those of the shared port (libs/http/src/fastify-app.ts). */
const BOUNDS = {
  ...{ requestTimeout: 30_000, headersTimeout: 10_000 },
  ...{ keepAliveTimeout: 75_000, connectionsCheckingInterval: 5_000 },
};

/** The address must be known before the program is built, so the port is open before anything can answer there. */
const notYet: RequestListener = (_request, response) => {
  response.writeHead(503, { 'Retry-After': '1', Connection: 'close' }).end();
};

/**
 * The port of one worker alone. Registers dial in at the port of all workers; which of them has the link is known to the other relays
 * by this one, where they hand in its calls.
 */
export class OwnPort {
  private constructor(private readonly server: Server) {}

  /** @param worker from 1 on; null: a relay of one process needs none */
  static async open(worker: number | null, settings: RelaySettings): Promise<OwnPort | null> {
    if (worker === null) return null;
    const { RELAY_WORKER_PORT: first } = settings;
    const server = createServer(BOUNDS, notYet);
    server.listen({ port: first === 0 ? 0 : first + worker - 1, exclusive: true });
    await once(server, 'listening');
    return new OwnPort(server);
  }

  /** With the address under which other relays reach this worker. */
  settingsOf(settings: RelaySettings): RelaySettings {
    const url = new URL(relayUrlOf(settings));
    url.port = String((this.server.address() as AddressInfo).port);
    return { ...settings, RELAY_URL: url.origin };
  }

  /** @param fastify with all its routes; until then 503 is answered: a relay that opens a call here takes it for "not sent" */
  serve(fastify: FastifyInstance): void {
    this.server.off('request', notYet);
    this.server.on('request', (request, response) => fastify.routing(request, response));
  }

  close(): void {
    this.server.close();
    this.server.closeIdleConnections();
  }
}
