// Promise: scrapers that take nothing of their answer do not take the port of the metrics from the others for good.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createLogger } from './logger.js';
import { serveMetrics } from './metrics-server.js';
import { freePorts } from './testing/free-ports.js';
import { untilTrue } from './testing/until.js';

/** More than the sockets between the two ends hold while nothing is read. */
const TEXT = ' '.repeat(6 * 1024 ** 2);
const MORE_THAN_ALL = 20;

test('as many as may be connected ask and read nothing: the next one is answered when they are cut off', async () => {
  const port = await freePorts(1);
  const settings = { METRICS_PORT: port, METRICS_HOST: '127.0.0.1' };
  const read = (): Promise<{ contentType: string; text: string }> =>
    Promise.resolve({ contentType: 'text/plain', text: TEXT });
  const server = await serveMetrics(read, settings, createLogger('test', 'silent'));
  const clients: Socket[] = [];
  const isAnswered = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}/metrics`).then(
      async (answer) => (await answer.text()) === TEXT,
      () => false,
    );
  try {
    for (let nth = 0; nth < MORE_THAN_ALL; nth += 1) {
      const client = connect(port, '127.0.0.1');
      clients.push(client);
      client.on('error', () => undefined);
      client.pause();
      await once(client, 'connect');
      client.write('GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n');
    }
    await untilTrue(isAnswered, 'a scrape is answered');
  } finally {
    for (const client of clients) client.destroy();
    server?.close();
    server?.closeAllConnections();
  }
});
