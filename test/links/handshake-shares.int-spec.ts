// Promise: unfinished handshakes are divided by the address that dials, also behind the trusted proxy: none of them can take all.
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
