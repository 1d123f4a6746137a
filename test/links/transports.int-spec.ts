// Promise: over a link, also one that another relay holds, everything means what it means over HTTP: no sale is lost or doubled by the way it took.
import { randomBytes } from 'node:crypto';
import { startTracing, stopTracing, withTrace } from '#runtime';
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import {
  API_KEY,
  startTestRegister,
  type TestRegister,
} from '../../apps/cash-register/src/testing/register-fixture.js';
import { OtlpReceiver } from '../system/otlp-receiver.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { CutProxy } from './cut-proxy.js';
import { LinkRig, type LinkedDevice, type TestDevice, type TestRelay } from './link-rig.js';
import { sell, transportContract, type Carried } from './transport-contract.js';

let traces: OtlpReceiver;
let rig: LinkRig;
let register: TestRegister;
let httpCable: CutProxy;
let http: TestDevice;
let dead: TestDevice;
let linked: LinkedDevice;
let deadLinked: LinkedDevice;

beforeAll(async () => {
  traces = await OtlpReceiver.start();
  await startTracing('relay-and-register', { TRACES_URL: traces.url, TRACES_SAMPLE: 0, TRACES_HEADERS: {} });
  rig = await LinkRig.start(2);
  register = await startTestRegister({ environment: { EMULATOR: '1' } });
  httpCable = new CutProxy('relay', { host: '127.0.0.1', port: Number(new URL(register.url).port) });
  http = await rig.createDevice({ apiKey: API_KEY, baseUrl: `http://127.0.0.1:${await httpCable.listen()}` });
  const closed = `http://127.0.0.1:${await freePorts(1)}`;
  dead = await rig.createDevice({ apiKey: API_KEY, baseUrl: closed });
  linked = await rig.linked(rig.relay(), { apiKey: API_KEY, registerUrl: register.url });
  deadLinked = await rig.linked(rig.relay(), { apiKey: API_KEY, registerUrl: closed });
});

afterAll(async () => {
  await rig.stop();
  await httpCable.close();
  await register.close();
  await stopTracing();
  await traces.stop();
});

function overLink(relay: () => TestRelay): () => Carried {
  return () => ({
    register,
    client: (timeoutMs = 20_000) =>
      rig.clientOn(relay(), linked, { sendTimeoutMs: timeoutMs, callTimeoutMs: timeoutMs }),
    deadClient: () => rig.clientOn(relay(), deadLinked),
    cable: rig.relay().proxy,
    healed: async () => {
      rig.relay().proxy.heal();
      const client = rig.clientOn(relay(), linked, {});
      await until(
        'the link is back',
        () => client.status(),
        ({ kind }) => kind === 'ok',
      );
      const other = rig.clientOn(relay(), deadLinked, {});
      await until(
        'the other link is back',
        () => other.status(),
        (status) => status.kind === 'unreachable' && status.reason === 'ECONNREFUSED',
      );
    },
  });
}

transportContract('http', () => ({
  register,
  client: (timeoutMs = 20_000) =>
    rig.clientOn(rig.relay(), http, { sendTimeoutMs: timeoutMs, callTimeoutMs: timeoutMs }),
  deadClient: () => rig.clientOn(rig.relay(), dead),
  cable: httpCable,
  healed: () => Promise.resolve(httpCable.heal()),
}));
transportContract(
  'link',
  overLink(() => rig.relay(0)),
);
transportContract(
  'link of another relay',
  overLink(() => rig.relay(1)),
);

test('calls to the link of another relay were handed over', async () => {
  expect(await rig.relay(1).metric('link_forwarded_calls_total')).toBeGreaterThan(0);
  expect(await rig.relay(0).metric('link_forwarded_calls_total')).toBe(0);
});

test.each([0, 1])('a trace goes over the link to the register, called from relay %i', async (relay) => {
  const traceId = randomBytes(16).toString('hex');
  const context = { traceId, spanId: randomBytes(8).toString('hex'), isSampled: true };
  const client = rig.clientOn(rig.relay(relay), linked);
  expect(await withTrace(context, () => sell(client))).toMatchObject({ kind: 'registered' });
  const spans = await until(
    'both ends of the call have arrived',
    () => traces.of(traceId),
    (arrived) =>
      ['register POST /receipts', 'POST /receipts'].every((name) => arrived.some((span) => span.name === name)),
  );
  const [called, served] = ['register POST /receipts', 'POST /receipts'].map((name) =>
    spans.find((span) => span.name === name),
  );
  expect(called?.parentSpanId).toBe(context.spanId);
  expect(served?.parentSpanId).toBe(called?.spanId);
});
