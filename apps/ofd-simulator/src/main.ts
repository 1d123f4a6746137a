import { observeRequests } from '#http';
import { createLogger, Metrics, runProgram, serveMetrics, stopOnSignals } from '#runtime';
import { ofdSimulatorServer } from './server.js';
import { loadOfdSimulatorSettings } from './settings.js';

runProgram(async () => {
  const settings = loadOfdSimulatorSettings();
  const logger = createLogger('ofd-simulator', settings.LOG_LEVEL);
  const server = ofdSimulatorServer();
  const metrics = new Metrics('ofd-simulator');
  observeRequests(server, metrics);
  await serveMetrics(() => metrics.read(), settings, logger);
  const url = await server.listen({ port: settings.OFD_PORT, host: settings.OFD_HOST });
  stopOnSignals({ logger, stop: () => server.close(), timeoutMs: 5_000 });
  logger.info({ url }, 'ready');
});
