import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import {
  createLogger,
  Metrics,
  NestLogger,
  runProgram,
  serveMetrics,
  startTracing,
  stopOnSignals,
  stopTracing,
  type Logger,
} from '#runtime';
import { RegisterHost } from './register-host.js';
import { RegisterModule } from './register.module.js';
import { readRegisterSettings } from './settings.js';

runProgram(async () => {
  const settings = readRegisterSettings();
  const logger = createLogger('cash-register', settings.LOG_LEVEL);
  const metrics = new Metrics('cash-register');
  await startTracing('cash-register', settings);
  const app = await NestFactory.createApplicationContext(RegisterModule.with(settings, logger, metrics), {
    logger: new NestLogger(logger),
    abortOnError: false,
  });
  const host = app.get(RegisterHost);
  metrics.gauge({ name: 'register_unsent_documents', help: 'Documents that the OFD does not have yet' }, (gauge) =>
    gauge.set(host.unsentDocuments),
  );
  await serveMetrics(() => metrics.read(), settings, logger);
  const urls = await host.start();
  stopOnSignals({
    logger,
    stop: async () => {
      try {
        await host.stop();
        await app.close();
      } finally {
        await stopTracing();
      }
    },
    timeoutMs: 10_000,
  });
  if (settings.EMULATOR) warnOfEmulator(logger);
  logger.info({ url: urls[0], registers: urls.length, data_dir: settings.DATA_DIR }, 'ready');
});

function warnOfEmulator(logger: Logger): void {
  logger.warn('==================================================================================');
  logger.warn('EMULATOR=1: POST /emulator/faults is open. Never issue real receipts on this register.');
  logger.warn('==================================================================================');
}
