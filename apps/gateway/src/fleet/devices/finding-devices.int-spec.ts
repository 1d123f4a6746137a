// Promise: of a chain's registers a person finds the one that is meant, and those for which something is to be done.
import 'reflect-metadata';
import { FleetFixture } from './testing/fleet-fixture.js';

let fleet: FleetFixture;
let token: string;
let ids: string[];

beforeAll(async () => {
  fleet = await FleetFixture.start();
  const stranger = await fleet.stranger();
  ({ token } = stranger);
  ids = [];
  for (const [name, state] of [
    ['Касса 1 – Чиланзар', 'online'],
    ['Kassa 2', 'unreachable'],
    ['Kassa 3', 'disabled'],
    ['100 % _', 'degraded'],
  ] as const) {
    const { deviceId } = await fleet.gateway.createDevice({ merchantId: stranger.merchantId });
    await fleet.gateway.prisma.device.update({
      where: { id: deviceId },
      data: { name, state, terminalId: `UZ23070000004${ids.length}` },
    });
    ids.push(deviceId);
  }
});

afterAll(() => fleet?.stop());

async function find(query: string): Promise<string[]> {
  const { status, body } = await fleet.ask('GET', `/v1/devices?${query}`, undefined, token);
  expect(status).toBe(200);
  return body.data.map(({ id }) => id);
}

test('by what a person calls it: name, terminal, shop, in small or capital letters', async () => {
  expect(await find(`q=${encodeURIComponent('чИЛАНЗАР')}`)).toEqual([ids[0]]);
  expect(await find('q=kassa')).toEqual([ids[1], ids[2]]);
  expect(await find('q=uz230700000042')).toEqual([ids[2]]);
  expect(await find('q=MAIN')).toEqual(ids);
  expect(await find('q=nowhere')).toEqual([]);
});

test('what stands for itself in a pattern stands for itself', async () => {
  expect(await find(`q=${encodeURIComponent('%')}`)).toEqual([ids[3]]);
  expect(await find('q=_')).toEqual([ids[3]]);
});

test('for which something is to be done', async () => {
  expect(await find('attention=true')).toEqual([ids[1], ids[3]]);
  expect(await find('attention=false')).toEqual(ids);
  expect(await find('attention=true&q=kassa')).toEqual([ids[1]]);
  expect(await find('attention=true&state=online')).toEqual([]);
});
