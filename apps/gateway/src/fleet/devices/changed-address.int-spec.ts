// Promise: a register's key is only ever sent to the address that it was entered for.
import 'reflect-metadata';
import { untilTrue } from '../../../../../libs/runtime/src/testing/until.js';
import { FleetFixture, REGISTER_URL } from './testing/fleet-fixture.js';

let fleet: FleetFixture;

beforeAll(async () => {
  fleet = await FleetFixture.start({ maxDevices: 40 });
});

afterAll(() => fleet?.stop());

const OTHER = 'http://127.0.0.2:8765';

test('422 secret_required without the key; no relay is asked and nothing changes', async () => {
  const id = await fleet.register();
  const before = await fleet.gateway.prisma.device.findUniqueOrThrow({ where: { id } });
  const relay = fleet.answerTasks(() => fleet.introduction(fleet.terminalOf(id)));
  const refused = await fleet.ask('PATCH', `/v1/devices/${id}`, { base_url: OTHER });
  await relay.stop();
  expect(refused).toMatchObject({
    status: 422,
    body: { code: 'secret_required', errors: [{ pointer: '/api_key' }] },
  });
  expect(relay.asked).toEqual([]);
  expect(await fleet.gateway.prisma.device.findUniqueOrThrow({ where: { id } })).toEqual(before);
});

test('200 with the key in the same call: it is tried with that key and no other', async () => {
  const id = await fleet.register();
  const { apiKeySealed: stored } = await fleet.gateway.prisma.device.findUniqueOrThrow({ where: { id } });
  let params: { baseUrl?: string; apiKeySealed?: string } = {};
  const relay = fleet.answerTasks((task) => {
    params = task.params as typeof params;
    return fleet.introduction(fleet.terminalOf(id));
  });
  const moved = await fleet.ask('PATCH', `/v1/devices/${id}`, { base_url: OTHER, api_key: 'entered-again' });
  await relay.stop();
  expect(moved).toMatchObject({ status: 200, body: { base_url: OTHER } });
  expect(params.baseUrl).toBe(OTHER);
  expect(params.apiKeySealed).not.toBe(Buffer.from(stored).toString('base64'));
  const row = await fleet.gateway.prisma.device.findUniqueOrThrow({ where: { id } });
  expect(Buffer.from(row.apiKeySealed).toString('base64')).toBe(params.apiKeySealed);
});

test('200 for the same address in another spelling, without the key', async () => {
  const id = await fleet.register();
  const relay = fleet.answerTasks(() => fleet.introduction(fleet.terminalOf(id)));
  const same = await fleet.ask('PATCH', `/v1/devices/${id}`, { base_url: `${REGISTER_URL}/` });
  await relay.stop();
  expect(same).toMatchObject({ status: 200, body: { base_url: REGISTER_URL } });
});

test('a key is never kept beside an address that another call has set meanwhile', async () => {
  const id = await fleet.register();
  const seen: unknown[] = [];
  const relay = fleet.answerTasks(({ params }) => {
    seen.push(params);
    return null;
  });
  const renewed = fleet.ask('PATCH', `/v1/devices/${id}`, { api_key: 'for-the-old-address' });
  await untilTrue(() => seen.length > 0, 'the relay is asked');
  await relay.stop();
  const { prisma } = fleet.gateway;
  await prisma.device.update({ where: { id }, data: { baseUrl: OTHER } });
  await prisma.$executeRaw`
    UPDATE device_tasks SET state = 'done', result = ${JSON.stringify(fleet.introduction(fleet.terminalOf(id)))}::jsonb
     WHERE device_id = ${id} AND state <> 'done'`;
  await prisma.$executeRaw`
    SELECT pg_notify('device_task_done', id) FROM device_tasks WHERE device_id = ${id}`;
  const before = await prisma.device.findUniqueOrThrow({ where: { id } });
  expect(seen).toMatchObject([{ baseUrl: REGISTER_URL }]);
  expect(await renewed).toMatchObject({ status: 503, body: { code: 'service_unavailable' } });
  const after = await prisma.device.findUniqueOrThrow({ where: { id } });
  expect(after.apiKeySealed).toEqual(before.apiKeySealed);
});
