// Promise: alerts and dashboards ask for what running programs export, and one trace shows the way of a receipt through all programs.
// That what is broken makes the alerts true is tested by alerts-registers.e2e-spec.ts and alerts-callers.e2e-spec.ts.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { FiscalGateway } from '#sdk';
import { MailServer } from '../../libs/messages/src/testing/mail-server.js';
import { ACCOUNT, SimulatedProvider } from '../../libs/messages/src/testing/simulated-provider.js';
import { Receiver } from '../../apps/gateway/src/notify/webhooks/testing/receiver.js';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import { sql } from './database.js';
import { setFaults } from './ground-truth.js';
import { OtlpReceiver, treeOf, type ReceivedSpan } from './otlp-receiver.js';
import { startPayments, type PaymentsRig } from './payments-rig.js';
import { startPrometheus, type TestPrometheus } from './prometheus.js';
import type { TestSystem } from './system.js';
import { until } from '../../libs/runtime/src/testing/until.js';

const ROOT = join(import.meta.dirname, '..', '..');
const PROMETHEUS = join(ROOT, 'ops', 'prometheus');
const GRAFANA = join(ROOT, 'ops', 'grafana');

let rig: PaymentsRig;
let system: TestSystem;
let traces: OtlpReceiver;
let archive: string;
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

const SHOWN_WITHIN_MS = 15_000;
const BUYER = 'buyer@example.uz';
const NO_METRICS = new Set(['and', 'or', 'unless', 'bool', 'offset', 'on', 'ignoring', 'inf', 'nan']);

/** The metrics that an expression asks for: identifiers that are no functions, keywords or labels. */
function metricsOf(expr: string): string[] {
  const bare = expr.replace(/\{[^}]*\}|\[[^\]]*\]/g, '').replace(/\b(by|without|on|ignoring)\s*\([^)]*\)/g, '');
  return [...bare.matchAll(/[a-zA-Z_:][a-zA-Z0-9_:]*(?=(\s*\()?)/g)]
    .filter(([word, call]) => call === undefined && !NO_METRICS.has(word.toLowerCase()))
    .map(([word]) => word);
}

/** `host:port` of each program's metrics. */
function addresses(urls: readonly string[]): string[] {
  return urls.map((url) => new URL(url).host);
}

beforeAll(async () => {
  archive = mkdtempSync(join(tmpdir(), 'fiscal-archive-'));
  traces = await OtlpReceiver.start();
  const tracing = { TRACES_URL: traces.url, TRACES_SAMPLE: '0' };
  rig = await startPayments({
    ...{ simulatorPort: await freePorts(1), registers: 2, ownMetricsPorts: true },
    // What may be switched off is exported only where it is switched on.
    env: {
      ...{ HEALTH_POLL_MS: '300', ARCHIVE_DIR: archive, ...tracing },
      MESSAGE_ALLOWED_CIDRS: '127.0.0.0/8',
    },
    registerEnv: tracing,
    scopes: ['refunds:write', 'webhooks:admin', 'messages:write'],
    // An attempt that cannot be resolved is a person's after this.
    profile: { parkAfterMs: 1_500 },
  });
  system = rig.system;
  const { gatewayMetricsUrls, relayMetricsUrls } = system;
  prometheus = await startPrometheus(
    { 'fiscal-gateway': addresses(gatewayMetricsUrls), 'fiscal-device-relay': addresses(relayMetricsUrls) },
    [join(PROMETHEUS, 'slo.yml')],
  );
});

afterAll(async () => {
  await prometheus?.stop();
  await rig?.stop();
  await traces?.stop();
  rmSync(archive, { recursive: true, force: true });
});

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
  const isKnown = (metric: string): boolean =>
    known.has(metric) || known.has(metric.replace(/_(sum|count|bucket)$/, ''));
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
  expect(metricsOf('sum by (le) (rate(no_such_metric_bucket{a="b"}[5m])) or vector(0)')).toEqual([
    'no_such_metric_bucket',
  ]);
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
    const selectors = expr.match(/[a-zA-Z_:][a-zA-Z0-9_:]*\{[^}]*\}/g) ?? [];
    const series = [...metricsOf(expr), ...selectors];
    const counts = await Promise.all(series.map((each) => scraped.query(`count(${each})`)));
    if (counts.some(({ length }) => length === 0)) continue;
    // A metric that has just got its first value has no rate before the next reading.
    const shown = await until(
      where,
      () => scraped.query(expr),
      ({ length }) => length > 0,
      SHOWN_WITHIN_MS,
    ).catch(() => []);
    if (shown.length === 0) empty.push(`${where}: ${expr}`);
  }
  expect(empty).toEqual([]);
});

/** A caller that traces, and has chosen this request. */
function sampledTrace(): { traceId: string; traceparent: string } {
  const traceId = randomBytes(16).toString('hex');
  return { traceId, traceparent: `00-${traceId}-${randomBytes(8).toString('hex')}-01` };
}

/** The spans of the trace, when they have all arrived. */
function traced(traceId: string, wanted: (names: string[]) => boolean): Promise<ReceivedSpan[]> {
  return until(
    'the spans have arrived',
    () => traces.of(traceId),
    (spans) => wanted(spans.map(({ name }) => name)),
  );
}

/** Programs send their spans by themselves: a child may come before its parent. */
function arrivedWith(...more: readonly string[]): (names: string[]) => boolean {
  const wanted = ['lane send', 'register POST /receipts', 'POST /receipts', 'ofd deliver', ...more];
  return (names) => wanted.every((name) => names.includes(name));
}

const AT_THE_REGISTER = [
  '  device-relay: lane send',
  '    device-relay: register POST /receipts',
  '      cash-register: POST /receipts',
  '        cash-register: ofd deliver',
];

describe('one trace shows the way of', () => {
  let receiver: Receiver;

  beforeAll(async () => {
    receiver = await Receiver.start();
    const hook = { url: `${receiver.url}/hook`, events: ['receipt.registered', 'refund.registered'] };
    expect((await system.client.post('/v1/webhooks', hook)).status).toBe(201);
  });

  afterAll(() => receiver?.stop());

  test('a sale made by the SDK: request, ledger, lane, register, OFD, webhook; what was done for several is linked', async () => {
    const { traceId, traceparent } = sampledTrace();
    const { clientId, clientSecret, goods, tills } = system.merchant;
    const fgw = new FiscalGateway({
      baseUrl: system.gatewayUrls[0] ?? '',
      credentials: { clientId, clientSecret },
      traceparent: () => traceparent,
    });
    const receipt = await fgw.receipts.create(
      {
        items: [{ name: goods[0] ?? '', price: 112_000, qty: 1 }],
        payment: { method: 'cash' },
        cashier_id: tills[0]?.cashierId ?? '',
      },
      { idempotencyKey: 'traced-sale', waitS: 20 },
    );
    const spans = await traced(traceId, arrivedWith('webhook send'));
    expect(treeOf(spans.filter(({ name }) => name !== 'POST /oauth/token'))).toEqual([
      'gateway: POST /v1/receipts',
      ...AT_THE_REGISTER,
      '  gateway: receipt accept',
      '  gateway: webhook send',
    ]);
    const [posted, accepted] = ['POST /v1/receipts', 'receipt accept'].map((name) =>
      spans.find((span) => span.name === name),
    );
    expect(posted).toMatchObject({ attributes: { 'http.route': '/v1/receipts', 'http.response.status_code': 201 } });
    expect(accepted?.attributes['receipt.id']).toBe(receipt.id);
    const linkedTo = (name: string, span: ReceivedSpan | undefined): ReceivedSpan[] =>
      traces.spans.filter((each) => each.name === name && each.links.includes(span?.spanId ?? ''));
    await until(
      'the group and the lane’s round have arrived',
      () => linkedTo('lane round', posted),
      ({ length }) => length > 0,
    );
    expect(linkedTo('receipts insert', accepted)).toHaveLength(1);
    expect(receiver.received.at(-1)?.headers['traceparent']).toContain(traceId);
  });

  test('a refund', async () => {
    const { client } = system;
    const sold = await client.post('/v1/receipts', client.saleOf(1), { prefer: 'wait=20' });
    const { traceId, traceparent } = sampledTrace();
    const refunded = await client.post(`/v1/receipts/${sold.body.id}/refunds`, {}, { traceparent, prefer: 'wait=20' });
    expect([refunded.status, refunded.body.status]).toEqual([201, 'registered']);
    const spans = await traced(traceId, arrivedWith('webhook send'));
    expect(treeOf(spans)).toEqual([
      'gateway: POST /v1/receipts/:id/refunds',
      ...AT_THE_REGISTER,
      '  gateway: webhook send',
    ]);
  });

  test('a payment: held at the provider, registered, taken', async () => {
    const { client } = system;
    const { traceId, traceparent } = sampledTrace();
    const sale = client.saleOf(0, { payment: { method: 'online', provider: 'multicard', token: 'token-0001' } });
    expect((await client.post('/v1/payments', sale, { traceparent })).status).toBe(201);
    const spans = await traced(traceId, arrivedWith('provider capture', 'webhook send'));
    const tree = treeOf(spans);
    expect(tree[0]).toBe('gateway: POST /v1/payments');
    expect(tree).toEqual(
      expect.arrayContaining(['  gateway: provider authorize', '  gateway: provider capture', ...AT_THE_REGISTER]),
    );
    expect(spans.find(({ name }) => name === 'provider capture')?.attributes).toMatchObject({ outcome: 'status' });
  });

  test('a message to the buyer: in the trace of its sale, and so is the log line of one that is refused', async () => {
    const { client } = system;
    const mail = await MailServer.start();
    try {
      const settings = {
        ...{ host: '127.0.0.1', port: String(mail.port), security: 'none' },
        ...{ from_address: 'chek@shop.example', from_name: 'Shop' },
      };
      const account = { provider: 'smtp', settings, per_minute: 60_000 };
      expect((await client.post('/v1/message-accounts', account)).status).toBe(201);
      const sell = async (traceparent: string): Promise<string> => {
        const buyer = { customer: { email: BUYER }, notify: { channels: ['email'], language: 'uz' } };
        const sold = await client.post('/v1/receipts', client.saleOf(1, buyer), { traceparent, prefer: 'wait=20' });
        expect([sold.status, sold.body.status]).toEqual([201, 'registered']);
        return sold.body.id ?? '';
      };
      const sent = sampledTrace();
      const id = await sell(sent.traceparent);
      const spans = await traced(sent.traceId, arrivedWith('webhook send', 'message send'));
      expect(treeOf(spans)).toEqual([
        'gateway: POST /v1/receipts',
        ...AT_THE_REGISTER,
        '  gateway: message send',
        '  gateway: receipt accept',
        '  gateway: webhook send',
      ]);
      const attributes = { 'receipt.id': id, channel: 'email', outcome: 'sent' };
      expect(spans.find(({ name }) => name === 'message send')?.attributes).toMatchObject(attributes);
      expect(mail.letters).toHaveLength(1);

      mail.faults = ['policy'];
      const refused = sampledTrace();
      await sell(refused.traceparent);
      await traced(refused.traceId, (names) => names.includes('message send'));
      await until(
        'the log names the trace',
        () => system.gateways[0]?.said ?? '',
        (said) =>
          new RegExp(`"trace_id":"${refused.traceId}"[^\n]*"outcome":"refused"[^\n]*message: not sent`).test(said),
      );
      const metrics = async (): Promise<string> => (await fetch(`${system.gatewayMetricsUrls[0]}/metrics`)).text();
      const own = await metrics();
      for (const outcome of ['sent', 'refused'])
        expect(own).toMatch(
          new RegExp(`^message_send_duration_seconds_count\\{.*channel="email",outcome="${outcome}".*\\} 1$`, 'm'),
        );
      // Counted every 15 s: the last count may have met one of the two before it was sent.
      await until('no message waits', metrics, (text) => /^messages_waiting\{.*\} 0$/m.test(text));
    } finally {
      await mail.stop();
    }
  });

  test('a message whose answer was lost: the question about it is in the trace of its sale', async () => {
    const { client, database } = system;
    const sms = await SimulatedProvider.start('eskiz');
    try {
      const { email, password, from } = ACCOUNT;
      const settings = { api_url: sms.url, email, password, from };
      const account = { provider: 'eskiz', settings, per_minute: 60_000 };
      expect((await client.post('/v1/message-accounts', account)).status).toBe(201);
      sms.faults = ['drop_answer'];
      const { traceId, traceparent } = sampledTrace();
      const buyer = { customer: { phone: '+998901234567' }, notify: { channels: ['sms'], language: 'uz' } };
      const sold = await client.post('/v1/receipts', client.saleOf(1, buyer), { traceparent, prefer: 'wait=20' });
      await until(
        'it is unclear, and asked about now',
        () =>
          sql(database, "UPDATE messages SET due_at = now() WHERE receipt_id = $1 AND state = 'unclear' RETURNING id", [
            sold.body.id,
          ]),
        ({ length }) => length === 1,
      );
      await sql(database, 'UPDATE message_accounts SET due_at = now()');
      const spans = await traced(traceId, arrivedWith('message send', 'message ask'));
      expect(spans.find(({ name }) => name === 'message send')?.attributes).toMatchObject({ outcome: 'unclear' });
      expect(spans.find(({ name }) => name === 'message ask')?.attributes).toMatchObject({
        'receipt.id': sold.body.id,
      });
    } finally {
      await sms.stop();
    }
  });

  test('a receipt that becomes unknown', async () => {
    const { client } = system;
    const { traceId, traceparent } = sampledTrace();
    await setFaults(system, [{ fault: 'late_answer', next: 1, delay_ms: 60_000 }]);
    const posted = await client.post('/v1/receipts', client.saleOf(0), { traceparent, prefer: 'respond-async' });
    await until(
      'it is at the register',
      () => client.get(`/v1/receipts/${posted.body.id}`),
      ({ body }) => body.status === 'sending',
    );
    await system.register.end('SIGKILL');
    const spans = await traced(traceId, (names) => names.includes('receipt unknown') && names.includes('lane send'));
    await system.register.start();
    const unknown = spans.find(({ name }) => name === 'receipt unknown');
    expect(unknown).toMatchObject({
      program: 'device-relay',
      failed: true,
      attributes: { 'receipt.id': posted.body.id },
    });
    expect(spans.find(({ spanId }) => spanId === unknown?.parentSpanId)?.name).toBe('lane resolve');
    expect(system.relays[0]?.said).toMatch(new RegExp(`"trace_id":"${traceId}"[^\n]*receipt is unknown`));
  });

  test('nothing that was not chosen; yet its answers and log lines name a trace', async () => {
    const traceId = randomBytes(16).toString('hex');
    const { client } = system;
    const traceparent = `00-${traceId}-${randomBytes(8).toString('hex')}-00`;
    const refused = await client.post('/v1/receipts', { items: [] }, { traceparent });
    expect(refused.body).toMatchObject({ code: expect.any(String), trace_id: traceId });
    const own = await client.post('/v1/receipts', { items: [] });
    expect(own.body.trace_id).toMatch(/^[0-9a-f]{32}$/);
    expect(traces.of(traceId)).toEqual([]);
  });

  test('no secret, no good and no person in any span', () => {
    const { clientSecret, goods } = system.merchant;
    expect(traces.spans.length).toBeGreaterThan(20);
    for (const secret of [
      clientSecret,
      system.registerApiKey,
      system.secretsKey,
      goods[0] ?? '',
      'token-0001',
      'Bearer',
      BUYER,
    ])
      expect(traces.raw).not.toContain(secret);
  });
});
