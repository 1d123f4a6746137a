import { createLogger, stopOnSignals } from '#runtime';
import { explainAndExit } from '../start-failure.js';
import { readOfdSimulatorSettings } from '../settings.js';
import { ofdSimulatorServer } from './server.js';

async function main(): Promise<void> {
  const settings = readOfdSimulatorSettings();
  const logger = createLogger('ofd-simulator', settings.LOG_LEVEL);
  const server = ofdSimulatorServer();
  const url = await server.listen({ port: settings.OFD_PORT, host: settings.OFD_HOST });
  stopOnSignals({ logger, stop: () => server.close(), timeoutMs: 5_000 });
  logger.info({ url }, 'ready');
}

main().catch(explainAndExit);
