import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import type { Logger } from './logger.js';
import type { MetricsText } from './metrics.js';
import { parsed, port, type Settings } from './settings.js';

/** Of every program. */
export const METRICS_SETTINGS = {
  /** Unset: `/metrics` stays on the port of the API, where the program has one. */
  METRICS_PORT: port().optional(),
  METRICS_HOST: parsed(readAddress).default('127.0.0.1'),
};

/** A scraper has one connection or two; what else holds them is refused, and takes nothing from the program's own port. */
const MAX_CONNECTIONS = 16;
const TIMEOUT_MS = 10_000;

/**
 * `GET /metrics` on a port of its own, so that a network policy can admit scrapers and no caller. Nothing where METRICS_PORT is not set.
 * @param read what a scrape is answered with
 */
export async function serveMetrics(
  read: () => Promise<MetricsText>,
  settings: Settings<typeof METRICS_SETTINGS>,
  logger: Logger,
): Promise<Server | null> {
  const { METRICS_PORT: portNumber, METRICS_HOST: host } = settings;
  if (portNumber === undefined) return null;
  const server = createServer(
    { requestTimeout: TIMEOUT_MS, headersTimeout: TIMEOUT_MS, connectionsCheckingInterval: TIMEOUT_MS / 2 },
    (request, response) => {
      answer(read, request, response).catch((error: unknown) => {
        logger.warn({ err: error }, 'a scrape could not be answered');
        response.statusCode = 500;
        response.end();
      });
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(portNumber, host, resolve);
  });
  server.unref();
  return server;
}

async function answer(
  read: () => Promise<MetricsText>,
  { method, url }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (url !== '/metrics') return end(response, 404);
  if (method !== 'GET' && method !== 'HEAD') return end(response.setHeader('allow', 'GET'), 405);
  const { contentType, text } = await read();
  // A scraper that takes nothing of it must not keep one of the few connections.
  response.setTimeout(TIMEOUT_MS).setHeader('content-type', contentType).end(text);
}

function end(response: ServerResponse, status: number): void {
  response.statusCode = status;
  response.end();
}

function readAddress(raw: string): string {
  if (isIP(raw) === 0) throw new Error('an IP address of this machine such as 127.0.0.1, 0.0.0.0 or ::');
  return raw;
}
