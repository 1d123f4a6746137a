// Promise: whichever relay holds a register's link and whichever works its lane, each receipt is registered once, and a register that moves is found.
import { stopFastifyNestApp } from '#http';
import { newId } from '#runtime';
import {
  API_KEY,
  startTestRegister,
  type TestRegister,
} from '../../apps/cash-register/src/testing/register-fixture.js';
import { sale } from '../../apps/cash-register/src/testing/samples.js';
import { LanesModule } from '../../apps/device-relay/src/lanes/lanes.module.js';
import { stopRelay } from '../../apps/device-relay/src/stop-relay.js';
import { ForwardAuth } from '../../apps/device-relay/src/links/forward-auth.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { HeldServer } from './held-server.js';
import { LinkRig, type LinkedDevice, type TestDevice, type TestRelay } from './link-rig.js';

let rig: LinkRig;
const registers: TestRegister[] = [];

beforeAll(async () => {
  rig = await LinkRig.start(2);
  for (let index = 0; index < 3; index += 1) registers.push(await startTestRegister());
});
afterEach(() => rig.endTest());
afterAll(async () => {
  await rig.stop();
  for (const register of registers) await register.close();
});

const linkedTo = (relay: TestRelay, register: TestRegister): Promise<LinkedDevice> =>
  rig.linked(relay, { apiKey: API_KEY, registerUrl: register.url });
const presenceOf = (deviceId: string) => rig.prisma.linkPresence.findUniqueOrThrow({ where: { deviceId } });

async function journalOf(register: TestRegister): Promise<number> {
  return (await register.call('GET', '/fm/info')).body.currentReceiptSeq as number;
}

test('two relays, links and lanes crosswise: every receipt once, in order', async () => {
  const [a, b] = [rig.relay(0), rig.relay(1)];
  const [onA, onB] = [await linkedTo(a, registers[0]!), await linkedTo(b, registers[1]!)];
  const [before, receipts] = [await Promise.all(registers.slice(0, 2).map(journalOf)), 10];
  const ids = new Map<string, string[]>();
  for (const device of [onA, onB]) ids.set(device.id, await rig.acceptReceipts(device, receipts));
  const handedOver = await a.metric('link_forwarded_calls_total');
  // Each relay works the lane of the register that the other one is linked to.
  await Promise.all([a.runner.wake(onB.id), b.runner.wake(onA.id)]);
  for (const device of [onA, onB]) {
    const rows = await until(
      'all are registered',
      () => rig.prisma.receipt.findMany({ where: { deviceId: device.id }, orderBy: { lanePlace: 'asc' } }),
      (all) => all.every(({ status }) => status === 'registered'),
    );
    expect(rows.map(({ id }) => id)).toEqual(ids.get(device.id));
    const sequences = rows.map(({ receiptSeq }) => Number(receiptSeq));
    expect(sequences).toEqual(sequences.map((_, index) => sequences[0]! + index));
  }
  expect(await Promise.all(registers.slice(0, 2).map(journalOf))).toEqual(before.map((count) => count + receipts));
  expect(await a.metric('link_forwarded_calls_total')).toBeGreaterThan(handedOver);
});

test('a register that moves to another network is found there, and its old link is cut', async () => {
  const [a, b] = [rig.relay(0), rig.relay(1)];
  const device = await linkedTo(a, registers[0]!);
  const before = await presenceOf(device.id);
  // Its old connection hangs: nothing more goes through it, and the relay does not hear that it was given up.
  a.proxy.frozen = true;
  await device.agent.stop();
  expect(a.links.size).toBe(1);
  const moved = rig.agent(b, device, { registerUrl: registers[0]!.url, dataDir: device.dataDir });
  await until('it is linked elsewhere', () => moved.isLinked, Boolean);
  await until(
    'the old one is cut',
    () => a.links.size,
    (size) => size === 0,
  );
  a.proxy.heal();
  const after = await presenceOf(device.id);
  expect(after.epoch).toBeGreaterThan(before.epoch);
  expect(after.relayId).not.toBe(before.relayId);
  expect(after.disconnectedAt).toBeNull();
  for (const relay of [a, b]) expect(await rig.clientOn(relay, device).status()).toMatchObject({ kind: 'ok' });
});

test('an end of an older link says nothing of the newer one', async () => {
  const [a, b] = [rig.relay(0), rig.relay(1)];
  const device = await linkedTo(a, registers[0]!);
  const moved = rig.agent(b, device, { registerUrl: registers[0]!.url, dataDir: device.dataDir });
  await until('it is linked elsewhere', () => moved.isLinked, Boolean);
  await until(
    'the old one is gone',
    () => device.agent.isLinked,
    (linked) => !linked,
  );
  expect((await presenceOf(device.id)).disconnectedAt).toBeNull();
  await moved.stop();
  await until(
    'no relay holds it',
    () => presenceOf(device.id),
    ({ disconnectedAt }) => disconnectedAt !== null,
  );
});

test('a relay that stops says so: no relay hands it calls any more', async () => {
  const third = await rig.startRelay();
  const device = await linkedTo(third, registers[0]!);
  await third.app.get(LanesModule).end();
  await stopFastifyNestApp(third.app);
  expect((await presenceOf(device.id)).disconnectedAt).not.toBeNull();
  expect(await rig.clientOn(rig.relay(), device).status()).toEqual({ kind: 'unreachable', reason: 'link_absent' });
  await third.proxy.close();
});

test('a relay that stops ends calls of others over its link first, and takes none after them', async () => {
  const third = await rig.startRelay();
  // The watch polls a new device at once, and asks others than this.
  const slow = new HeldServer('/z-report/stats');
  const device = await rig.linked(third, { apiKey: API_KEY, registerUrl: await slow.listen() });
  const call = rig.clientOn(rig.relay(), device, { callTimeoutMs: 60_000 }).zReportStats();
  await until('the register has the call', () => slow.held, Boolean);
  const stopping = stopRelay(third.app, { STOP_DEADLINE_MS: 60_000, STOP_LISTENER_AFTER_MS: 0 });
  await until(
    'it is not ready',
    () => fetch(`${third.url}/readyz`),
    ({ status }) => status === 503,
  );
  await until(
    'no call is taken any more',
    () => rig.clientOn(rig.relay(), device).business(),
    (answer) => answer.kind === 'unreachable' && answer.reason === 'link_absent',
  );
  slow.answer(JSON.stringify({ totalClosed: 0, totalUnacked: 0, unackedNumbers: [] }));
  expect(await call).toMatchObject({ kind: 'ok' });
  await stopping;
  expect((await presenceOf(device.id)).disconnectedAt).not.toBeNull();
  await slow.close();
  await third.proxy.close();
});

test('a relay that died without a word: not sent, because no relay took the call', async () => {
  const device = await rig.createDevice({ apiKey: API_KEY });
  const gone = { deviceId: device.id, relayId: newId('rly'), relayUrl: 'http://127.0.0.1:9', epoch: 3n };
  await rig.prisma.linkPresence.create({ data: gone });
  const preparation = await rig.clientOn(rig.relay(), device).prepareReceipt(Buffer.from('{}'), 'k');
  expect(preparation).toEqual({ kind: 'not_sent', reason: 'relay_ECONNREFUSED' });
});

test('a key that was read before another register was enrolled is not handed to the relay that holds the new link', async () => {
  const [a, b] = [rig.relay(0), rig.relay(1)];
  const device = await linkedTo(a, registers[0]!);
  expect(await rig.clientOn(b, device).fmInfo()).toMatchObject({ kind: 'ok' });
  const other = rig.agent(a, device, { registerUrl: registers[0]!.url, code: await rig.newCode(device.id) });
  await until('the other register is linked', () => other.isLinked, Boolean);
  expect(await rig.clientOn(b, device).fmInfo()).toEqual({ kind: 'unreachable', reason: 'link_of_another_key' });
  expect(await rig.clientOn(b, await rig.asStored(device)).fmInfo()).toMatchObject({ kind: 'ok' });
});

test('an older epoch is not served: the caller read a presence that is over', async () => {
  const [a, b] = [rig.relay(0), rig.relay(1)];
  const device = await linkedTo(a, registers[0]!);
  await rig.prisma.$executeRaw`UPDATE link_presences SET epoch = epoch + 1 WHERE device_id = ${device.id}`;
  expect(await rig.clientOn(b, device).status()).toEqual({ kind: 'unreachable', reason: 'link_absent' });
});

test('a lane that waits because its register was away goes on as soon as it dials in', async () => {
  const device: TestDevice = await rig.createDevice({ apiKey: API_KEY });
  const [receiptId] = await rig.acceptReceipts(device, 1);
  await rig.relay().runner.wake(device.id);
  await rig.prisma.$executeRaw`
    UPDATE lanes SET due_at = now() + interval '1 hour', failures = 9 WHERE device_id = ${device.id}`;
  // A register of its own: one terminal belongs to one device.
  rig.agent(rig.relay(), device, { registerUrl: registers[2]!.url, code: await rig.newCode(device.id) });
  await until(
    'it is registered',
    () => rig.prisma.receipt.findUniqueOrThrow({ where: { id: receiptId! }, select: { status: true } }),
    ({ status }) => status === 'registered',
  );
});

describe('handing calls in', () => {
  const FRAME = Buffer.from('\0\0\0\x02{}');
  const post = async (relay: TestRelay, header: string | null, body = FRAME): Promise<number> => {
    const response = await fetch(`${relay.url}/internal/link-calls`, {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream', ...(header !== null && { 'x-link-auth': header }) },
      body: new Uint8Array(body),
    });
    await response.arrayBuffer();
    return response.status;
  };

  test('needs the right of a relay of this installation, once, here and for this body', async () => {
    const relay = rig.relay();
    const { relayId } = relay.links.host;
    const clock = { now: () => new Date(), monotonicMs: () => 0 };
    const auth = new ForwardAuth(rig.keyring, clock);
    const stranger = new ForwardAuth(rig.foreignKeyring, clock);
    const late = new ForwardAuth(rig.keyring, { ...clock, now: () => new Date(Date.now() - 60_000) });
    const right = auth.sign(relayId, FRAME);
    expect(await post(relay, right)).toBe(200);
    expect(await post(relay, right)).toBe(401);
    expect(await post(relay, auth.sign(newId('rly'), FRAME))).toBe(401);
    expect(await post(relay, auth.sign(relayId, FRAME), Buffer.from('\0\0\0\x02{ '))).toBe(401);
    const parts = auth.sign(relayId, FRAME).split('.');
    const moved = [...parts.slice(0, 2), 'x'.repeat(22), ...parts.slice(3)].join('.');
    for (const header of [
      null,
      '',
      'a.b.c.d',
      moved,
      `${parts.join('.')}.x`,
      stranger.sign(relayId, FRAME),
      late.sign(relayId, FRAME),
    ]) {
      expect([header, await post(relay, header)]).toEqual([header, 401]);
    }
    expect(relay.said()).toContain('without a right');
  });

  test('the key that answers is the register’s: a wrong one is refused by it, not by us', async () => {
    const device = await rig.linked(rig.relay(), { apiKey: 'wrong-key-0123456789', registerUrl: registers[0]!.url });
    const body = Buffer.from(JSON.stringify(sale()));
    for (const relay of rig.relays) {
      const preparation = await rig.clientOn(relay, device).prepareReceipt(body, 'k');
      if (preparation.kind !== 'ready') throw new Error(preparation.reason);
      expect(await preparation.call.send(() => true)).toMatchObject({ kind: 'refused', code: 'S-001' });
    }
  });
});
