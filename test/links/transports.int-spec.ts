// Promise: over a link, also one that another relay holds, everything means what it means over HTTP: no sale is lost or doubled by the way it took.
import { freePorts } from '../../libs/runtime/src/testing/free-ports.js';
import {
  API_KEY,
  startTestRegister,
  type TestRegister,
} from '../../apps/cash-register/src/testing/register-fixture.js';
import { until } from '../system/until.js';
import { CutProxy } from './cut-proxy.js';
import { LinkRig, type LinkedDevice, type TestDevice, type TestRelay } from './link-rig.js';
import { transportContract, type Carried } from './transport-contract.js';

let rig: LinkRig;
let register: TestRegister;
let httpCable: CutProxy;
let http: TestDevice;
let dead: TestDevice;
let linked: LinkedDevice;
let deadLinked: LinkedDevice;

beforeAll(async () => {
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
