import 'reflect-metadata';
import { createFastifyNestApp, createLogger, Metrics, runProgram, stopFastifyNestApp, stopOnSignals } from '#runtime';
import { LanesModule } from './lanes/lanes.module.js';
import { RelayModule } from './relay.module.js';
import { loadSettings } from './settings.js';

/** Longer than the lanes need to let go (lanes.module.ts), shorter than an impatient supervisor. */
const STOP_TIMEOUT_MS = 9_500;

runProgram(async () => {
  const settings = loadSettings();
  const logger = createLogger('device-relay', settings.LOG_LEVEL);
  const metrics = new Metrics('device-relay');
  const app = await createFastifyNestApp(RelayModule.create(settings, logger, metrics), { logger, metrics });
  stopOnSignals({
    logger,
    stop: async () => {
      await app.get(LanesModule).letGo();
      await stopFastifyNestApp(app);
    },
    timeoutMs: STOP_TIMEOUT_MS,
  });
  await app.listen(settings.RELAY_PORT, '0.0.0.0');
  logger.info({ port: settings.RELAY_PORT }, 'device-relay is ready');
});
