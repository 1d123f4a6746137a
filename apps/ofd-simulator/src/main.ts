import { createLogger, runProgram, stopOnSignals } from '#runtime';
import { ofdSimulatorServer } from './server.js';
import { loadOfdSimulatorSettings } from './settings.js';

runProgram(async () => {
  const settings = loadOfdSimulatorSettings();
  const logger = createLogger('ofd-simulator', settings.LOG_LEVEL);
  const server = ofdSimulatorServer();
  const url = await server.listen({ port: settings.OFD_PORT, host: settings.OFD_HOST });
  stopOnSignals({ logger, stop: () => server.close(), timeoutMs: 5_000 });
  logger.info({ url }, 'ready');
});
