// Promise: unfinished handshakes are divided by the address that dials, also behind the trusted proxy: none of them can take all.
import { connect } from 'node:net';
import { parseCidr, type Cidr } from '#outgoing';
import { LINK_PROTOCOL } from '#link';
import { LinkRig } from './link-rig.js';
import { newKey, RawRegister } from './raw-register.js';

let rig: LinkRig;

beforeAll(async () => {
  rig = await LinkRig.start(1, [cidr('127.0.0.1/32'), cidr('::1/128')]);
});
afterEach(() => rig.endTest());
afterAll(() => rig?.stop());

function cidr(text: string): Cidr {
  const parsed = parseCidr(text);
  if (parsed.kind === 'invalid') throw new Error(parsed.reason);
  return parsed.cidr;
}

function dial(from: string, deviceId: string): RawRegister {
  const raw = new RawRegister(rig.linkUrl(rig.relay(), deviceId), LINK_PROTOCOL, { 'x-forwarded-for': from });
  rig.atEnd(() => raw.end());
  return raw;
}

/** How many of these handshakes the relay has begun, and how many it has refused. */
async function outcome(dialled: readonly RawRegister[]): Promise<{ begun: number; refused: number }> {
  const frames = await Promise.all(dialled.map((each) => each.next()));
  const begun = frames.filter((frame) => frame !== null).length;
  return { begun, refused: frames.length - begun };
}

test('200 idle handshakes of one address through the proxy: 50 begin, and another address is served at once', async () => {
  const one = await rig.createDevice({ apiKey: 'key' });
  const flood = Array.from({ length: 200 }, () => dial('198.51.100.1', one.id));
  expect(await outcome(flood)).toEqual({ begun: 50, refused: 150 });
  const register = dial('198.51.100.2', one.id);
  const verdict = await register.greet({ deviceId: one.id, privateKey: newKey(), code: await rig.newCode(one.id) });
  expect(verdict).toMatchObject({ type: 'accepted' });
  // The flood still holds what it has taken.
  expect(flood.filter(({ closed }) => closed === null)).toHaveLength(50);
});

test('addresses that fill their shares leave one handshake for each address that has none', async () => {
  const one = await rig.createDevice({ apiKey: 'key' });
  const crowds = ['198.51.100.1', '198.51.100.2', '198.51.100.3', '198.51.100.4', '198.51.100.5'];
  const flood = crowds.flatMap((from) => Array.from({ length: 50 }, () => dial(from, one.id)));
  // Three whole shares, and of the 50 that are left one for each of the two others; which three is the network's choice.
  expect((await outcome(flood)).begun).toBeLessThanOrEqual(152);
  expect(await outcome(['203.0.113.1', '203.0.113.2', '203.0.113.3'].map((from) => dial(from, one.id)))).toEqual({
    begun: 3,
    refused: 0,
  });
});

/** A dialler that asks and resets its connection at once, without waiting for what is said. */
async function dialAndReset(path: string, protocol: string): Promise<void> {
  const { hostname, port } = new URL(rig.relay().url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => socket.destroy());
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const lines = [`GET ${path} HTTP/1.1`, 'Host: relay', 'Connection: Upgrade', 'Upgrade: websocket'];
  const more = ['Sec-WebSocket-Version: 13', `Sec-WebSocket-Key: ${btoa('0123456789abcdef')}`];
  socket.write([...lines, ...more, `Sec-WebSocket-Protocol: ${protocol}`, '', ''].join('\r\n'));
  setTimeout(() => socket.resetAndDestroy(), Math.random() * 5);
  await closed;
}

test('diallers that reset their connection, let in or refused, take nothing with them', async () => {
  const crashes: unknown[] = [];
  const onCrash = (error: unknown): void => void crashes.push(error);
  process.on('uncaughtException', onCrash);
  rig.atEnd(() => void process.off('uncaughtException', onCrash));
  for (let round = 0; round < 20; round += 1) {
    const asks = [
      ['/link', LINK_PROTOCOL],
      ['/link', 'other'],
      ['/elsewhere', LINK_PROTOCOL],
    ] as const;
    await Promise.all(
      asks.flatMap(([path, protocol]) => Array.from({ length: 5 }, () => dialAndReset(path, protocol))),
    );
  }
  expect(crashes).toEqual([]);
  const one = await rig.createDevice({ apiKey: 'key' });
  const register = dial('198.51.100.3', one.id);
  const greeting = { deviceId: one.id, privateKey: newKey(), code: await rig.newCode(one.id) };
  expect(await register.greet(greeting)).toMatchObject({ type: 'accepted' });
});
