// Promise: a database that is away takes its own gauges from a scrape, and nothing else: what says that the relay runs stays.
import { createLogger, Metrics } from '#runtime';
import { DeviceMetrics } from './device-metrics.js';

const lines: string[] = [];
const logger = createLogger('test', 'warn', { write: (line) => void lines.push(line) });

type Statements = ConstructorParameters<typeof DeviceMetrics>[0];

function observed(prisma: Statements): Metrics {
  const metrics = new Metrics('test');
  new DeviceMetrics(prisma, { limit: 10 }, logger).observe(metrics);
  metrics.gauge({ name: 'relay_free_places', help: 'x' }, (gauge) => gauge.set(7));
  return metrics;
}

test('the database is away', async () => {
  const text = await observed({ $queryRaw: () => Promise.reject(new Error('away')) as never }).registry.metrics();
  expect(text).toMatch(/^relay_free_places\{.*\} 7$/m);
  expect(text).toMatch(/^receipts_ofd_alarmed\{.*\} Nan$/m);
  expect(text).not.toMatch(/^device_\w+\{/m);
  expect(lines.join('')).toContain('away');
});
