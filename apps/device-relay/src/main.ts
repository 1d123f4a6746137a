import 'reflect-metadata';
import { createFastifyNestApp } from '#http';
import {
  answerSupervisor,
  createLogger,
  isSupervisor,
  Metrics,
  runProgram,
  serveMetrics,
  startTracing,
  STOP_GRACE_MS,
  stopOnSignals,
  stopTracing,
  superviseWorkers,
  workerIndex,
} from '#runtime';
import { OwnPort } from './own-port.js';
import { RelayModule } from './relay.module.js';
import { loadSettings } from './settings.js';
import { stopRelay } from './stop-relay.js';

runProgram(async () => {
  const loaded = loadSettings();
  const logger = createLogger('device-relay', loaded.LOG_LEVEL);
  const metrics = new Metrics('device-relay');
  const workers = loaded.RELAY_WORKERS;
  if (isSupervisor(workers)) return superviseWorkers({ workers, settings: loaded, metrics, logger });
  const ownPort = await OwnPort.open(workerIndex(), loaded);
  if (ownPort) answerSupervisor(metrics);
  const settings = ownPort?.settingsOf(loaded) ?? loaded;
  await startTracing('device-relay', settings);
  const app = await createFastifyNestApp(RelayModule.create(settings, logger, metrics), { logger, metrics });
  stopOnSignals({
    logger,
    stop: async () => {
      try {
        await stopRelay(app, settings);
      } finally {
        ownPort?.close();
        await stopTracing();
      }
    },
    timeoutMs: settings.STOP_DEADLINE_MS + STOP_GRACE_MS,
  });
  if (!ownPort) await serveMetrics(() => metrics.read(), settings, logger);
  await app.listen(settings.RELAY_PORT, '0.0.0.0');
  ownPort?.serve(app.getHttpAdapter().getInstance());
  logger.info({ port: settings.RELAY_PORT }, 'device-relay is ready');
});
