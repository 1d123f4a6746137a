import 'reflect-metadata';
import { createFastifyNestApp } from '#http';
import {
  createLogger,
  Metrics,
  runProgram,
  serveMetrics,
  startTracing,
  STOP_GRACE_MS,
  stopOnSignals,
  stopTracing,
} from '#runtime';
import { RelayModule } from './relay.module.js';
import { loadSettings } from './settings.js';
import { stopRelay } from './stop-relay.js';

runProgram(async () => {
  const settings = loadSettings();
  const logger = createLogger('device-relay', settings.LOG_LEVEL);
  const metrics = new Metrics('device-relay');
  await startTracing('device-relay', settings);
  const app = await createFastifyNestApp(RelayModule.create(settings, logger, metrics), { logger, metrics });
  stopOnSignals({
    logger,
    stop: () => stopRelay(app, settings).finally(stopTracing),
    timeoutMs: settings.STOP_DEADLINE_MS + STOP_GRACE_MS,
  });
  await serveMetrics(() => metrics.read(), settings, logger);
  await app.listen(settings.RELAY_PORT, '0.0.0.0');
  logger.info({ port: settings.RELAY_PORT }, 'device-relay is ready');
});
