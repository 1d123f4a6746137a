import { createServer } from 'node:http';
import { LinkAgent, LinkKeyError, readLinkUrl } from '#link';
import { createLogger, Metrics, runProgram, serveMetrics, SettingsError, stopOnSignals } from '#runtime';
import { readAgentSettings, type AgentSettings } from './settings.js';

/** Stands beside a register that cannot dial out itself, and gives it a link. Forwards to REGISTER_URL and nowhere else. */
runProgram(async () => {
  const settings = readAgentSettings();
  const logger = createLogger('link-agent', settings.LOG_LEVEL);
  const agent = openAgent(settings, logger);
  const metrics = new Metrics('link-agent');
  metrics.gauge({ name: 'link_agent_linked', help: '1 while the link to a relay is open' }, (gauge) =>
    gauge.set(agent.isLinked ? 1 : 0),
  );
  await serveMetrics(() => metrics.read(), settings, logger);
  const health = createServer((request, response) => {
    const isReadiness = request.url === '/readyz';
    const isKnown = isReadiness || request.url === '/healthz';
    response.statusCode = isKnown ? (isReadiness && !agent.isLinked ? 503 : 200) : 404;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ linked: agent.isLinked }));
  });
  await new Promise<void>((resolve, reject) => {
    health.once('error', reject);
    health.listen(settings.AGENT_PORT, '127.0.0.1', resolve);
  });
  agent.start();
  stopOnSignals({ logger, stop: () => agent.stop().then(() => health.close()), timeoutMs: 5_000 });
  logger.info({ register: settings.REGISTER_URL }, 'link-agent is ready');
});

function openAgent(settings: AgentSettings, logger: ReturnType<typeof createLogger>): LinkAgent {
  const { LINK_URL, LINK_ALLOW_INSECURE, LINK_ENROLMENT_CODE, REGISTER_URL, DATA_DIR } = settings;
  try {
    return new LinkAgent({
      target: readLinkUrl(LINK_URL, { allowInsecure: LINK_ALLOW_INSECURE }),
      registerUrl: REGISTER_URL,
      dataDir: DATA_DIR,
      enrolmentCode: LINK_ENROLMENT_CODE,
      logger,
    });
  } catch (error) {
    if (error instanceof LinkKeyError)
      throw new SettingsError([{ key: 'DATA_DIR', fault: `is unusable: ${error.message}` }]);
    throw new SettingsError([
      { key: 'LINK_URL', fault: `must be ${error instanceof Error ? error.message : 'readable'}` },
    ]);
  }
}
