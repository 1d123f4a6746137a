import 'reflect-metadata';
import { createFastifyNestApp, createLogger, Metrics, runProgram, stopFastifyNestApp, stopOnSignals } from '#runtime';
import { DeviceTasks } from './devices/device-tasks.js';
import { GatewayModule } from './gateway.module.js';
import { SettledReceipts } from './receipts/settled-receipts.js';
import { ExportReceipts } from './search/export-receipts.js';
import { loadSettings } from './settings.js';

const STOP_TIMEOUT_MS = 9_500;

runProgram(async () => {
  const settings = loadSettings();
  const logger = createLogger('gateway', settings.LOG_LEVEL);
  const metrics = new Metrics('gateway');
  const app = await createFastifyNestApp(GatewayModule.create(settings, logger, metrics), {
    logger,
    metrics,
    trustedProxies: settings.TRUSTED_PROXIES,
  });
  stopOnSignals({
    logger,
    stop: () => {
      app.get(SettledReceipts, { strict: false }).releaseAll();
      app.get(DeviceTasks, { strict: false }).releaseAll();
      app.get(ExportReceipts, { strict: false }).abortAll();
      return stopFastifyNestApp(app);
    },
    timeoutMs: STOP_TIMEOUT_MS,
  });
  await app.listen(settings.GATEWAY_PORT, '0.0.0.0');
  logger.info({ port: settings.GATEWAY_PORT }, 'gateway is ready');
});
