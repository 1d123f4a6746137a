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
import { GatewayModule } from './gateway.module.js';
import { loadSettings, warnOfMovedSettings } from './settings.js';
import { stopGateway } from './stop-gateway.js';

runProgram(async () => {
  const settings = loadSettings();
  const logger = createLogger('gateway', settings.LOG_LEVEL);
  if (workerIndex() === null) warnOfMovedSettings(logger);
  const metrics = new Metrics('gateway');
  const workers = settings.GATEWAY_WORKERS;
  if (isSupervisor(workers)) return superviseWorkers({ workers, settings, metrics, logger });
  const isWorker = workerIndex() !== null;
  if (isWorker) answerSupervisor(metrics);
  await startTracing('gateway', settings);
  const app = await createFastifyNestApp(GatewayModule.create(settings, logger, metrics), {
    logger,
    metrics,
    trustedProxies: settings.TRUSTED_PROXIES,
    isHttpsOutside: settings.PUBLIC_URL.startsWith('https:'),
  });
  stopOnSignals({
    logger,
    stop: async () => {
      try {
        await stopGateway(app, settings);
      } finally {
        await stopTracing();
      }
    },
    timeoutMs: settings.STOP_DEADLINE_MS + STOP_GRACE_MS,
  });
  if (!isWorker) await serveMetrics(() => metrics.read(), settings, logger);
  await app.listen(settings.GATEWAY_PORT, '0.0.0.0');
  logger.info({ port: settings.GATEWAY_PORT }, 'gateway is ready');
});
