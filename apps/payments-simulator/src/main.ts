import { observeRequests } from '#http';
import { createLogger, Metrics, runProgram, serveMetrics, stopOnSignals } from '#runtime';
import { fileAccounts } from './accounts.js';
import { paymentsSimulator } from './server.js';
import { loadPaymentsSimSettings } from './settings.js';

runProgram(async () => {
  const settings = loadPaymentsSimSettings();
  const logger = createLogger('payments-simulator', settings.LOG_LEVEL);
  const server = paymentsSimulator({ accounts: fileAccounts(settings.PAYMENTS_SIM_ACCOUNTS) });
  const metrics = new Metrics('payments-simulator');
  observeRequests(server, metrics);
  await serveMetrics(() => metrics.read(), settings, logger);
  const url = await server.listen({ port: settings.PAYMENTS_SIM_PORT, host: settings.PAYMENTS_SIM_HOST });
  stopOnSignals({ logger, stop: () => server.close(), timeoutMs: 5_000 });
  logger.info({ url }, 'ready');
});
