// Promise: alerts and dashboards ask for what running programs export, and a system that is broken makes the alert's expression true.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { startPrometheus, type TestPrometheus } from './prometheus.js';
import { startSystem, type TestSystem } from './system.js';
import { until } from './until.js';

const ROOT = join(import.meta.dirname, '..', '..');
const PROMETHEUS = join(ROOT, 'ops', 'prometheus');
const GRAFANA = join(ROOT, 'ops', 'grafana');

let system: TestSystem;
let prometheus: TestPrometheus | null;

interface RuleFile {
  groups: { rules: { alert?: string; record?: string; expr: string }[] }[];
}

const alerts = rulesOf('alerts.yml');
const recorded = rulesOf('slo.yml');
const panels = readdirSync(GRAFANA)
  .filter((file) => file.endsWith('.json'))
  .flatMap(queriesOf);

function rulesOf(file: string): RuleFile['groups'][number]['rules'] {
  return (parse(readFileSync(join(PROMETHEUS, file), 'utf8')) as RuleFile).groups.flatMap(({ rules }) => rules);
}

interface Query {
  where: string;
  expr: string;
}

/** Those that Prometheus answers. */
function queriesOf(file: string): Query[] {
  const { title, panels } = JSON.parse(readFileSync(join(GRAFANA, file), 'utf8')) as {
    title: string;
    panels: { title: string; targets?: { expr?: string; datasource: { uid: string } }[] }[];
  };
  return panels.flatMap((panel) =>
    (panel.targets ?? [])
      .filter(({ datasource }) => datasource.uid === 'prometheus')
      .map(({ expr = '' }) => ({
        where: `${title}: ${panel.title}`,
        expr: expr.replaceAll('$__rate_interval', '30s'),
      })),
  );
}

const NO_METRICS = new Set(['and', 'or', 'unless', 'bool', 'offset', 'on', 'ignoring', 'inf', 'nan']);

/** The metrics that an expression asks for: identifiers that are no functions, keywords or labels. */
function metricsOf(expr: string): string[] {
  const bare = expr
    .replace(/\{[^}]*\}|\[[^\]]*\]/g, '')
    .replace(/\b(by|without|on|ignoring)\s*\([^)]*\)/g, '');
  return [...bare.matchAll(/[a-zA-Z_:][a-zA-Z0-9_:]*(?=(\s*\()?)/g)]
    .filter(([word, call]) => call === undefined && !NO_METRICS.has(word.toLowerCase()))
    .map(([word]) => word);
}

/** `host:port` of each program's metrics. */
function addresses(urls: readonly string[]): string[] {
  return urls.map((url) => new URL(url).host);
}

beforeAll(async () => {
  system = await startSystem({
    registers: 2,
    ownMetricsPorts: true,
    env: { HEALTH_POLL_MS: '300', FAILED_TOKEN_LIMIT: 'off' },
  });
  const { gatewayMetricsUrls, relayMetricsUrls } = system;
  prometheus = await startPrometheus(
    { 'fiscal-gateway': addresses(gatewayMetricsUrls), 'fiscal-device-relay': addresses(relayMetricsUrls) },
    [join(PROMETHEUS, 'slo.yml')],
  );
});

afterAll(async () => {
  await prometheus?.stop();
  await system?.stop();
});

/** Waits until the alert's own expression holds, as Prometheus evaluates it. */
async function expectTrue(alert: string): Promise<void> {
  const rule = alerts.find((each) => each.alert === alert);
  if (!rule) throw new Error(`there is no alert ${alert}`);
  await until(
    `${alert} is true`,
    () => prometheus?.query(rule.expr) ?? [],
    ({ length }) => length > 0,
  );
}

test('METRICS_PORT takes /metrics off the port of the API, and answers nothing else', async () => {
  for (const [api, own] of [
    [system.gatewayUrls[0], system.gatewayMetricsUrls[0]],
    [system.relayUrls[0], system.relayMetricsUrls[0]],
  ]) {
    expect((await fetch(`${api}/metrics`)).status).toBe(404);
    const scraped = await fetch(`${own}/metrics`);
    expect([scraped.status, scraped.headers.get('content-type')]).toEqual([
      200,
      expect.stringMatching(/^text\/plain; version=0\.0\.4/),
    ]);
    expect((await fetch(`${own}/metrics`, { method: 'POST' })).status).toBe(405);
    for (const path of ['/', '/readyz', '/v1/receipts', '/metrics/'])
      expect([path, (await fetch(`${own}${path}`)).status]).toEqual([path, 404]);
  }
});

test('every metric that alerts, rules and dashboards ask for is exported, and every query is answered', async () => {
  const { client } = system;
  for (const till of [0, 1]) expect((await client.post('/v1/receipts', client.saleOf(till))).status).toBe(201);
  if (!prometheus) return;
  const names = await until(
    'both programs are scraped',
    () => prometheus?.names() ?? new Set<string>(),
    (known) => known.has('relay_free_places') && known.has('receipt_accept_duration_seconds'),
  );
  const known = new Set([...names, ...recorded.map(({ record = '' }) => record), 'up']);
  const isKnown = (metric: string): boolean => known.has(metric) || known.has(metric.replace(/_(sum|count|bucket)$/, ''));
  const asked: Query[] = [
    ...alerts.map(({ alert = '', expr }) => ({ where: alert, expr })),
    ...recorded.map(({ record = '', expr }) => ({ where: record, expr })),
    ...panels,
  ];
  expect(asked.length).toBeGreaterThan(100);
  const unknown = asked.flatMap(({ where, expr }) =>
    metricsOf(expr)
      .filter((metric) => !isKnown(metric))
      .map((metric) => `${where}: ${metric}`),
  );
  expect(unknown).toEqual([]);
  expect(metricsOf('sum by (le) (rate(no_such_metric_bucket{a="b"}[5m])) or vector(0)')).toEqual(['no_such_metric_bucket']);
  for (const { expr } of asked) await prometheus.query(expr);
});

test('every panel shows something as soon as its metrics have values', async () => {
  if (!prometheus) return;
  const scraped = prometheus;
  await until(
    'the recorded ratios are there',
    () => scraped.query('slo:register:errors:ratio_rate1h'),
    ({ length }) => length > 0,
  );
  const empty: string[] = [];
  for (const { where, expr } of panels) {
    const counts = await Promise.all(metricsOf(expr).map((metric) => scraped.query(`count(${metric})`)));
    if (counts.some(({ length }) => length === 0)) continue;
    const shown = await scraped.query(expr);
    if (shown.length === 0) empty.push(`${where}: ${expr}`);
  }
  expect(empty).toEqual([]);
});

describe('what is broken makes its alert’s expression true', () => {
  test('registers are gone: DeviceUnreachable, FleetUnreachable', async () => {
    if (!prometheus) return;
    await system.register.end('SIGKILL');
    await expectTrue('DeviceUnreachable');
    await expectTrue('FleetUnreachable');
    await system.register.start();
  });

  test('five hundred and more requests with a token that is none: TokensRefused', async () => {
    if (!prometheus) return;
    const headers = { authorization: 'Bearer fgt_none', 'content-type': 'application/json' };
    for (let sent = 0; sent < 600; sent += 50) {
      const some = Array.from({ length: 50 }, () => fetch(`${system.gatewayUrls[0]}/v1/receipts/rcp_x`, { headers }));
      for (const response of await Promise.all(some)) await response.arrayBuffer();
    }
    await expectTrue('TokensRefused');
  });

  test('no relay runs: NoRelay, ProgramDown', async () => {
    if (!prometheus) return;
    await system.relays[0]?.end('SIGKILL');
    await expectTrue('NoRelay');
    await expectTrue('ProgramDown');
    await system.relays[0]?.start();
  });
});
