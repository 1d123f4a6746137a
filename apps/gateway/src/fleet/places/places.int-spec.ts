// Promise: branches, cashiers, groups and the merchant's settings are kept as given, on record, and never lost by archiving.
import 'reflect-metadata';
import { FleetFixture, type FleetAnswer } from '../devices/testing/fleet-fixture.js';

let fleet: FleetFixture;

beforeAll(async () => {
  fleet = await FleetFixture.start();
});

afterAll(() => fleet?.stop());

describe.each([
  ['branches', 'branch', 'brn'],
  ['cashiers', 'cashier', 'csh'],
  ['groups', 'group', 'grp'],
])('%s', (path, what, prefix) => {
  const create = (body: Record<string, unknown>): Promise<FleetAnswer> => fleet.ask('POST', `/v1/${path}`, body);

  test('are made, read, changed, archived and restored, each on the trail', async () => {
    const { deviceId } = await fleet.gateway.createDevice();
    const made = await create({ code: `${what}-1`, name: 'One', default_device_id: deviceId });
    expect(made).toMatchObject({
      status: 201,
      body: { code: `${what}-1`, default_device_id: deviceId, archived_at: null },
    });
    const { id } = made.body;
    expect(id.startsWith(`${prefix}_`)).toBe(true);
    const changed = await fleet.ask('PATCH', `/v1/${path}/${id}`, { name: 'Uno', default_device_id: null });
    expect(changed).toMatchObject({ status: 200, body: { code: `${what}-1`, name: 'Uno', default_device_id: null } });
    expect((await fleet.ask('GET', `/v1/${path}/${id}`)).body).toEqual(changed.body);
    const archived = await fleet.ask('DELETE', `/v1/${path}/${id}`);
    expect(archived).toMatchObject({ status: 200, body: { archived_at: expect.any(String) } });
    const listed = async (query: string): Promise<boolean> =>
      (await fleet.ask('GET', `/v1/${path}?limit=100${query}`)).body.data.some((entry) => entry.id === id);
    expect([await listed(''), await listed('&archived=true')]).toEqual([false, true]);
    expect((await fleet.ask('PATCH', `/v1/${path}/${id}`, { name: 'X' })).body.code).toBe('archived');
    expect((await create({ code: `${what}-1`, name: 'Again' })).body.code).toBe('code_taken');
    expect((await fleet.ask('POST', `/v1/${path}/${id}/restore`)).body['archived_at']).toBeNull();
    const actions = (await fleet.gateway.audited(id)).map(({ action }) => action);
    expect(actions).toEqual(['create', 'change', 'archive', 'restore'].map((verb) => `${what}.${verb}`));
  });

  test('codes are the merchant’s own, unique, and never look like our ids', async () => {
    expect((await create({ code: 'Марказ №1', name: 'A' })).status).toBe(201);
    const twice = await create({ code: 'Марказ №1', name: 'B' });
    expect(twice).toMatchObject({ status: 409, body: { code: 'code_taken', errors: [{ pointer: '/code' }] } });
    const { token } = await fleet.stranger();
    expect((await fleet.ask('POST', `/v1/${path}`, { code: 'Марказ №1', name: 'C' }, token)).status).toBe(201);
    for (const code of [fleet.merchantId, '', ' x', 'x\u0000', 7, null]) {
      const { status, body } = await create({ code, name: 'A' });
      expect([code, status, body.errors[0]?.pointer]).toEqual([code, 422, '/code']);
    }
    const pages = await fleet.ask('GET', `/v1/${path}?limit=1`);
    expect(pages.body.data).toHaveLength(1);
    const next = await fleet.ask('GET', `/v1/${path}?limit=1&cursor=${pages.body.next_cursor}`);
    expect(next.body.data[0]?.id).not.toBe(pages.body.data[0]?.id);
  });
});

test('a branch or group with live devices is not archived', async () => {
  const branch = await fleet.ask('POST', '/v1/branches', { code: 'used', name: 'B' });
  const group = await fleet.ask('POST', '/v1/groups', { code: 'used', name: 'G' });
  const { deviceId: id } = await fleet.gateway.createDevice();
  const moved = await fleet.ask('PATCH', `/v1/devices/${id}`, { branch_id: 'used', group_id: 'used' });
  expect(moved.body).toMatchObject({ branch_id: branch.body.id, group_id: group.body.id });
  expect((await fleet.ask('DELETE', `/v1/branches/${branch.body.id}`)).body.code).toBe('in_use');
  expect((await fleet.ask('DELETE', `/v1/groups/${group.body.id}`)).body.code).toBe('in_use');
  await fleet.gateway.prisma.device.update({ where: { id }, data: { deletedAt: new Date() } });
  expect((await fleet.ask('DELETE', `/v1/branches/${branch.body.id}`)).status).toBe(200);
  expect((await fleet.ask('DELETE', `/v1/groups/${group.body.id}`)).status).toBe(200);
});

test('a merchant sees and sets its own; what it requires of sales is enforced', async () => {
  const before = await fleet.ask('GET', '/v1/merchant');
  expect(before.body).toMatchObject({ time_of_close: null, default_goods: null, requirements: { external_id: false } });
  expect(before.body).toMatchObject({ unsupported_fields: 'refuse' });
  const goods = { spic: '01905001001000001', package_code: '1500001', units: 796, vat_percent: 12 };
  const patch = {
    time_of_close: '23:45',
    default_goods: goods,
    requirements: { external_id: true },
    unsupported_fields: 'omit',
  };
  const set = await fleet.ask('PATCH', '/v1/merchant', patch);
  expect(set).toMatchObject({ status: 200, body: { ...patch, name: 'M', tin: '300000000' } });
  expect((await fleet.ask('PATCH', '/v1/merchant', { name: 'N', default_goods: null })).body).toMatchObject({
    ...{
      name: 'N',
      default_goods: null,
      time_of_close: '23:45',
      requirements: { external_id: true },
      unsupported_fields: 'omit',
    },
  });
  const coded = { ...goods, units: 244_272_402 };
  expect((await fleet.ask('PATCH', '/v1/merchant', { default_goods: coded })).body).toMatchObject({
    default_goods: { units: 244_272_402 },
  });
  const odd = {
    tin: '311111111',
    time_of_close: '7:00',
    unsupported_fields: 'keep',
    default_goods: { ...goods, vat_percent: 15 },
  };
  const { body } = await fleet.ask('PATCH', '/v1/merchant', odd);
  expect(body.errors.map(({ pointer, code }) => [pointer, code]).sort()).toEqual([
    ['/default_goods/vat_percent', 'invalid_value'],
    ['/time_of_close', 'invalid_format'],
    ['/tin', 'unknown_field'],
    ['/unsupported_fields', 'invalid_value'],
  ]);
  const sale = {
    items: [{ name: 'Non', price: 1, qty: 1 }],
    payment: { method: 'cash' },
    cashier_id: 'no_such_cashier',
  };
  const refused = await fleet.ask('POST', '/v1/receipts', sale);
  expect(refused.body.errors).toContainEqual(expect.objectContaining({ pointer: '/external_id', code: 'required' }));
  const given = await fleet.ask('POST', '/v1/receipts', { ...sale, external_id: 'o-1' });
  expect(given.body.errors.map(({ pointer }) => pointer)).not.toContain('/external_id');
  expect((await fleet.gateway.audited(fleet.merchantId)).map(({ action }) => action)).toEqual([
    'merchant.change',
    'merchant.change',
    'merchant.change',
  ]);
});
