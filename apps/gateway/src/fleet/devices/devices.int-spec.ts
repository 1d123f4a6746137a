// Promise: a register is registered whole or not at all, within limits; what is shown of it is true; it leaves only when safe.
import 'reflect-metadata';
import { apiKeyOwner } from '#database';
import { open } from '#secrets';
import { untilTrue } from '../../../../../libs/runtime/src/testing/until.js';
import { SETTINGS_TOKEN } from '../../tokens.js';
import type { GatewaySettings } from '../../settings.js';
import { DeviceTasks } from './device-tasks.js';
import { FleetFixture, readingOf, REGISTER_URL } from './testing/fleet-fixture.js';
import { TriedOutDevices } from './tried-out-devices.js';

let fleet: FleetFixture;

beforeAll(async () => {
  fleet = await FleetFixture.start({ maxDevices: 40 });
});

afterAll(() => fleet?.stop());

async function countDevices(): Promise<number> {
  return fleet.gateway.prisma.device.count({ where: { merchantId: fleet.merchantId } });
}

describe('registering', () => {
  test('all violations are reported at once, with pointers', async () => {
    const { status, body } = await fleet.ask('POST', '/v1/devices', {
      ...{ branch_id: 7, name: ' Till', base_url: REGISTER_URL, api_key: 'key with spaces', close_at: '24:00' },
      profile: { send_timeout_ms: 5, pacing_ms: -1, vat_rule: 'none', sharing: 'mine', settle: 1 },
      transport: 'radio',
    });
    expect(status).toBe(422);
    const faults = Object.fromEntries(body.errors.map(({ pointer, code }) => [pointer, code]));
    expect(faults).toEqual({
      '/branch_id': 'invalid_type',
      '/name': 'invalid_text',
      '/api_key': 'invalid_format',
      '/close_at': 'invalid_format',
      '/transport': 'invalid_value',
      '/profile/send_timeout_ms': 'out_of_range',
      '/profile/pacing_ms': 'out_of_range',
      '/profile/vat_rule': 'invalid_value',
      '/profile/sharing': 'invalid_value',
      '/profile/settle': 'unknown_field',
    });
  });

  test.each([
    ['ftp://127.0.0.1', 'invalid_format'],
    ['127.0.0.1:8765', 'invalid_format'],
    ['http://user:secret@127.0.0.1:8765', 'invalid_format'],
    ['http://127.0.0.1:8765/?', 'invalid_format'],
    ['http://127.0.0.1:8765/#x', 'invalid_format'],
    ['http://10.0.0.1:8765', 'address_not_allowed'],
    ['http://0x0a000001:8765', 'address_not_allowed'],
    ['http://167772161', 'address_not_allowed'],
    ['http://[::1]:8765', 'address_not_allowed'],
    ['http://[::ffff:10.0.0.1]', 'address_not_allowed'],
    ['http://[64:ff9b::10.0.0.1]', 'address_not_allowed'],
    ['http://no-such-host.invalid', 'address_not_allowed'],
  ])('the address %s is refused', async (base_url, code) => {
    const { status, body } = await fleet.ask('POST', '/v1/devices', fleet.deviceBody({ base_url }));
    expect([status, body.errors]).toMatchObject([422, [{ pointer: '/base_url', code }]]);
  });

  test('a branch or group that is not the merchant’s is unknown', async () => {
    const { merchantId } = await fleet.stranger();
    const foreign = merchantId.replace('mer_', 'brn_');
    const branch = await fleet.ask('POST', '/v1/devices', fleet.deviceBody({ branch_id: foreign }));
    expect(branch.body.errors).toMatchObject([{ pointer: '/branch_id', code: 'branch_unknown' }]);
    const group = await fleet.ask('POST', '/v1/devices', fleet.deviceBody({ group_id: 'none' }));
    expect(group.body.errors).toMatchObject([{ pointer: '/group_id', code: 'group_unknown' }]);
  });

  test('on ok everything is there: identity, lane, event, record; the key only sealed', async () => {
    const id = await fleet.register({ close_at: '23:30', profile: { pacing_ms: 0 }, model: 'N7' });
    const { body } = await fleet.ask('GET', `/v1/devices/${id}`);
    expect(body).toMatchObject({
      ...{ id, model: 'N7', state: 'online', state_reason: null, close_at: '23:30', base_url: REGISTER_URL },
      terminal_id: fleet.terminalOf(id),
      profile: { pacing_ms: 0, send_timeout_ms: 60_000, failover_after_ms: null, vat_rule: 'unit', sharing: 'shared' },
      lane: { waiting: 0, oldest_accepted_at: null, open_attempt_id: null },
      countdowns: { memory: { receipts_left: 858, z_reports_left: 829 }, fuse: null, shift: null },
    });
    expect(await fleet.gateway.prisma.lane.count({ where: { deviceId: id } })).toBe(1);
    expect(await fleet.gateway.events(id)).toMatchObject([{ type: 'device.online' }]);
    const [record] = await fleet.gateway.audited(id);
    expect(record).toMatchObject({ action: 'device.register', before: null, after: { name: 'Till', state: 'online' } });
    expect(JSON.stringify([body, record])).not.toContain('a-secret-key');
    const row = await fleet.gateway.prisma.device.findUniqueOrThrow({ where: { id } });
    const { SECRETS_KEY } = fleet.gateway.app.get<GatewaySettings>(SETTINGS_TOKEN);
    expect(row.pollDueAt).toBeNull();
    expect(open(Buffer.from(row.apiKeySealed), apiKeyOwner(id), SECRETS_KEY)).toBe('a-secret-key');
  });

  test.each([
    ['S-001', 422, 'device_key_refused', '/api_key'],
    ['E-001', 422, 'device_not_activated', ''],
    ['E-002', 422, 'device_subscription_expired', ''],
    ['F-001', 422, 'device_module_not_ready', ''],
    ['F-005', 422, 'device_refused', ''],
    ['tin_mismatch', 422, 'device_tin_mismatch', ''],
    ['terminal_taken', 422, 'device_terminal_taken', ''],
    ['not_a_register', 422, 'device_not_a_register', '/base_url'],
    ['unreachable', 503, 'device_unreachable', '/base_url'],
    ['expired', 503, 'device_call_pending', ''],
  ])('%s becomes %i %s, and nothing is left', async (failure, status, code, pointer) => {
    const before = await countDevices();
    const relay = fleet.answerTasks(() => ({ kind: 'failed', code: failure, detail: 'because' }));
    const answer = await fleet.ask('POST', '/v1/devices', fleet.deviceBody());
    await relay.stop();
    expect(answer).toMatchObject({ status, body: { code, retryable: status === 503, errors: [{ pointer }] } });
    expect(answer.headers.get('retry-after') !== null).toBe(status === 503);
    expect(await countDevices()).toBe(before);
  });

  test('of two registrations of one register one wins, however close they are', async () => {
    const relay = fleet.answerTasks(() => fleet.introduction('UZ000000000TWO'));
    const answers = await Promise.all([1, 2, 3].map(() => fleet.ask('POST', '/v1/devices', fleet.deviceBody())));
    await relay.stop();
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422, 422]);
    expect(answers.filter(({ body }) => body.code === 'device_terminal_taken')).toHaveLength(2);
  });

  test('one that dials in is known at once and waits for its enrolment', async () => {
    const link = { transport: 'link', base_url: null };
    const { status, body } = await fleet.ask('POST', '/v1/devices', fleet.deviceBody(link));
    expect({ status, body }).toMatchObject({
      status: 201,
      body: { transport: 'link', base_url: null, state: 'unreachable', state_reason: 'waiting for enrolment' },
    });
    const both = await fleet.ask('POST', '/v1/devices', fleet.deviceBody({ transport: 'link' }));
    expect(both.body.errors).toMatchObject([{ pointer: '/base_url', code: 'invalid_value' }]);
    const neither = await fleet.ask('POST', '/v1/devices', fleet.deviceBody({ base_url: null }));
    expect(neither.body.errors).toMatchObject([{ pointer: '/base_url', code: 'required' }]);
    expect((await fleet.ask('POST', `/v1/devices/${body.id}/check`)).body.code).toBe('device_not_enrolled');
  });

  test('what a gateway left behind when it died is hidden, counts as tried, and is cleared', async () => {
    const { deviceId } = await fleet.gateway.createDevice();
    await fleet.gateway.prisma.$executeRaw`DELETE FROM lanes WHERE device_id = ${deviceId}`;
    await fleet.gateway.prisma.$executeRaw`
      UPDATE devices SET registered_at = NULL, terminal_id = NULL, created_at = now() - interval '9 minutes'
       WHERE id = ${deviceId}`;
    await fleet.gateway.prisma.$executeRaw`
      INSERT INTO device_tasks (id, device_id, kind, actor, expires_at) VALUES ('tsk_1', ${deviceId}, 'inspect', 'x', now())`;
    expect((await fleet.ask('GET', `/v1/devices/${deviceId}`)).status).toBe(404);
    const sweeper = fleet.gateway.app.get(TriedOutDevices, { strict: false });
    expect(await sweeper.sweep()).toBe(0);
    await fleet.gateway.prisma.$executeRaw`
      UPDATE devices SET created_at = now() - interval '11 minutes' WHERE id = ${deviceId}`;
    expect(await sweeper.sweep()).toBe(1);
    expect(await fleet.gateway.prisma.device.count({ where: { id: deviceId } })).toBe(0);
  });
});

describe('changing', () => {
  test('what is left out stays, null takes away, the trail has both sides', async () => {
    const group = await fleet.ask('POST', '/v1/groups', { code: 'g-change', name: 'G' });
    const id = await fleet.register({
      group_id: 'g-change',
      close_at: '22:00',
      profile: { pacing_ms: 5, settle_ms: 9_000 },
    });
    const patch = { name: 'New', group_id: null, close_at: null, profile: { pacing_ms: null, sharing: 'exclusive' } };
    const { status, body } = await fleet.ask('PATCH', `/v1/devices/${id}`, patch);
    expect({ status, body }).toMatchObject({
      status: 200,
      body: {
        ...{ name: 'New', group_id: null, close_at: null },
        profile: { pacing_ms: 1_000, settle_ms: 9_000, sharing: 'exclusive' },
      },
    });
    const [, record] = await fleet.gateway.audited(id);
    expect(record).toMatchObject({
      action: 'device.change',
      before: { name: 'Till', group_id: group.body.id },
      after: { name: 'New', group_id: null },
    });
    const nothing = await fleet.ask('PATCH', `/v1/devices/${id}`, { name: null });
    expect(nothing.body.errors).toMatchObject([{ pointer: '/name', code: 'required' }]);
  });

  test('a new key is tried before it is taken over, and mends the device', async () => {
    const id = await fleet.register();
    await fleet.gateway.prisma.device.update({ where: { id }, data: { state: 'blocked', stateReason: 'S-001' } });
    const refusing = fleet.answerTasks(() => ({ kind: 'failed', code: 'S-001', detail: 'no' }));
    const refused = await fleet.ask('PATCH', `/v1/devices/${id}`, { api_key: 'wrong', name: 'Unseen' });
    await refusing.stop();
    expect(refused.body.code).toBe('device_key_refused');
    expect((await fleet.ask('GET', `/v1/devices/${id}`)).body).toMatchObject({ name: 'Till', state: 'blocked' });

    let params: unknown;
    const relay = fleet.answerTasks((task) => {
      params = task.params;
      return fleet.introduction(fleet.terminalOf(id));
    });
    const mended = await fleet.ask('PATCH', `/v1/devices/${id}`, { api_key: 'right' });
    await relay.stop();
    expect(mended).toMatchObject({ status: 200, body: { state: 'online', state_reason: null } });
    expect(JSON.stringify(params)).not.toContain('right');
    const records = await fleet.gateway.audited(id);
    expect(JSON.stringify(records)).not.toContain('right');
    expect((await fleet.gateway.events(id)).map(({ type }) => type)).toEqual(['device.online', 'device.online']);
  });
});

describe('showing', () => {
  test('every countdown with its dates', async () => {
    const { deviceId: id, terminalId } = await fleet.gateway.createDevice();
    const oldest = new Date(Date.now() - 3_600_000).toISOString();
    const shift = { number: 4, openedAt: oldest, closedAt: null, documents: 29_000 };
    const reading = readingOf(terminalId, {
      ...{ unsentReceipts: 58, zReportsUsed: 830, shift, oldestUnsentAt: oldest, classifierVersion: 0 },
    });
    await fleet.gateway.prisma.device.update({
      where: { id },
      data: {
        ...{ reading: JSON.parse(JSON.stringify(reading)) as object, readingAt: new Date() },
        closeDueAt: new Date('2026-11-20T18:00:00Z'),
        subscriptionExpiresAt: new Date(Date.now() + 3.5 * 86_400_000),
      },
    });
    await fleet.gateway.createReceipt(fleet.merchantId, { deviceId: id, terminalId }, { status: 'accepted' });
    await fleet.gateway.prisma.classifierEntry.create({
      data: {
        ...{ spic: '00000000000000001', name: {}, packages: [], units: 796, marked: false, cashAllowed: true },
        ...{ vatPercents: [12], active: true, version: 1 },
      },
    });
    const { body } = await fleet.ask('GET', `/v1/devices/${id}`);
    expect(body).toMatchObject({
      ...{ classifier_version: 0, classifier_is_old: true },
      lane: { waiting: 1, oldest_accepted_at: expect.any(String) },
      countdowns: {
        subscription: { state: 'active', days_left: 3 },
        memory: { receipts_left: 800, z_reports_left: 2 },
        fuse: {
          oldest_unsent_at: oldest,
          deadline_at: new Date(Date.parse(oldest) + 48 * 3_600_000).toISOString(),
          unsent_receipts: 58,
        },
        shift: { number: 4, documents_left: 999, closes_at: '2026-11-20T18:00:00.000Z' },
      },
    });
    const operator = await fleet.gateway.createToken(fleet.merchantId, ['operator:resolve']);
    const { body: watched } = await fleet.ask('GET', '/v1/operator/countdowns?limit=100', undefined, operator);
    expect(watched.data.find(({ device_id }) => device_id === id)).toMatchObject({
      ...{ name: body['name'], terminal_id: terminalId, state: 'online', lane: body['lane'] },
      countdowns: { memory: { receipts_left: 800 }, fuse: { oldest_unsent_at: oldest }, shift: { number: 4 } },
    });
    const others = await fleet.gateway.createToken(await fleet.gateway.createMerchant(), ['operator:resolve']);
    const { body: theirs } = await fleet.ask('GET', '/v1/operator/countdowns', undefined, others);
    expect(theirs).toEqual({ data: [], next_cursor: null });
    expect((await fleet.ask('GET', '/v1/operator/countdowns')).status).toBe(403);
  });

  test('lists page by page, by branch, group and state', async () => {
    const { merchantId, token } = await fleet.stranger();
    const ids: string[] = [];
    for (let made = 0; made < 5; made += 1) ids.push((await fleet.gateway.createDevice({ merchantId })).deviceId);
    const seen: string[] = [];
    let cursor = '';
    do {
      const { body } = await fleet.ask('GET', `/v1/devices?limit=2${cursor}`, undefined, token);
      seen.push(...body.data.map(({ id }) => id));
      cursor = body.next_cursor === null ? '' : `&cursor=${body.next_cursor}`;
    } while (cursor !== '');
    expect(seen).toEqual([...ids].sort());
    await fleet.gateway.prisma.device.update({ where: { id: ids[1] ?? '' }, data: { state: 'blocked' } });
    const blocked = await fleet.ask('GET', '/v1/devices?state=blocked&branch_id=main', undefined, token);
    expect(blocked.body.data.map(({ id }) => id)).toEqual([ids[1]]);
    for (const query of [
      'attention=yes',
      'q=',
      `q=${'x'.repeat(129)}`,
      'q=%00',
      'state=asleep',
      'limit=0',
      'limit=101',
      'cursor=abc',
      'branch_id=nowhere',
      'color=red',
    ]) {
      expect([query, (await fleet.ask('GET', `/v1/devices?${query}`, undefined, token)).status]).toEqual([query, 422]);
    }
  });
});

describe('leaving', () => {
  test('disabled and enabled, drained and resumed: twice is no error', async () => {
    const { deviceId: id } = await fleet.gateway.createDevice();
    for (const [what, expected] of [
      ['disable', { state: 'disabled' }],
      ['disable', { state: 'disabled' }],
      ['enable', { state: 'online' }],
      ['drain', { draining_since: expect.any(String) }],
      ['drain', { draining_since: expect.any(String) }],
      ['resume', { draining_since: null }],
    ] as const) {
      const { status, body } = await fleet.ask('POST', `/v1/devices/${id}/${what}`);
      expect({ status, body }).toMatchObject({ status: 200, body: expected });
    }
    expect((await fleet.gateway.events(id)).map(({ type }) => type)).toEqual(['device.disabled', 'device.online']);
    await untilTrue(() => fleet.gateway.rung.includes(id), 'the lane is woken');
    const replaced = await fleet.gateway.createDevice({ state: 'replaced' });
    const refused = await fleet.ask('POST', `/v1/devices/${replaced.deviceId}/disable`);
    expect(refused).toMatchObject({ status: 409, body: { code: 'device_replaced' } });
  });

  test.each([
    ['not compared yet', null, '1 hour', 'replaced'],
    ['not proven to have sold nothing since', 'unproven', '1 hour', 'replaced'],
    ['proven to have sold nothing since', 'absent', '1 hour', 'online'],
    ['adopted, and disabled later', 'unproven', '-1 hour', 'online'],
  ])('one that was disabled when a copy was put back, %s', async (_what, verdict, disabledBefore, state) => {
    const { prisma } = fleet.gateway;
    const { deviceId: id } = await fleet.gateway.createDevice({ state: 'disabled' });
    await prisma.$executeRaw`
      INSERT INTO restore_checks (device_id, method, verdict, restored_at)
      SELECT id, 'counters', ${verdict}::text, state_since + ${disabledBefore}::interval FROM devices WHERE id = ${id}`;
    expect((await fleet.ask('POST', `/v1/devices/${id}/enable`)).body).toMatchObject({ state });
    expect((await fleet.gateway.events(id)).map(({ type }) => type)).toEqual([`device.${state}`]);
  });

  test('only at rest, with an empty lane, nothing that gets there with its money and nothing unresolved', async () => {
    const device = await fleet.gateway.createDevice();
    const { deviceId: id } = device;
    const remove = (): Promise<{ status: number; body: { code: string } }> => fleet.ask('DELETE', `/v1/devices/${id}`);
    expect((await remove()).body.code).toBe('device_not_at_rest');
    await fleet.ask('POST', `/v1/devices/${id}/drain`);
    expect((await remove()).body.code).toBe('device_not_at_rest');
    await fleet.gateway.prisma.$executeRaw`
      UPDATE devices SET draining_since = now() - interval '10 seconds' WHERE id = ${id}`;
    const waiting = await fleet.gateway.createReceipt(fleet.merchantId, device, { status: 'accepted' });
    expect((await remove()).body.code).toBe('device_lane_not_empty');
    await fleet.gateway.prisma.$executeRaw`UPDATE receipts SET status = 'cancelled' WHERE id = ${waiting}`;
    const unpaid = await fleet.gateway.createReceipt(fleet.merchantId, device, { status: 'awaiting_payment' });
    expect((await remove()).body.code).toBe('device_lane_not_empty');
    await fleet.gateway.prisma.$executeRaw`UPDATE receipts SET status = 'cancelled' WHERE id = ${unpaid}`;
    const { attemptId, receiptId } = await fleet.gateway.createAttempt({ device, state: 'unknown' });
    expect((await remove()).body.code).toBe('device_lane_not_empty');
    await fleet.gateway.prisma.$executeRaw`UPDATE receipts SET status = 'rejected' WHERE id = ${receiptId}`;
    await fleet.gateway.prisma.$executeRaw`UPDATE attempts SET state = 'not_registered' WHERE id = ${attemptId}`;
    const branch = await fleet.ask('POST', '/v1/branches', { code: 'b-del', name: 'B', default_device_id: id });
    expect(branch.status).toBe(201);
    const code = { codeHash: new Uint8Array(32), deviceId: id, expiresAt: new Date(Date.now() + 60_000) };
    await fleet.gateway.prisma.linkEnrolment.create({ data: { ...code, apiKeySealed: new Uint8Array(8) } });
    expect((await remove()).status).toBe(204);
    expect(await fleet.gateway.prisma.linkEnrolment.count({ where: { deviceId: id } })).toBe(0);
    expect((await remove()).status).toBe(404);
    expect((await fleet.ask('GET', `/v1/branches/${branch.body.id}`)).body['default_device_id']).toBeNull();
    expect((await fleet.gateway.events(id)).map(({ type }) => type)).toEqual(['device.deleted']);
    expect(await fleet.gateway.prisma.device.findUnique({ where: { id } })).toMatchObject({ state: 'disabled' });
  });
});

describe('calling', () => {
  test('done is 200 with what the register answered; its refusal a problem with its own code', async () => {
    const { deviceId: id } = await fleet.gateway.createDevice();
    const relay = fleet.answerTasks(({ kind }) =>
      kind === 'shift_close'
        ? { kind: 'failed', code: 'F-003', detail: 'F-003: the shift is empty' }
        : { kind: 'ok', value: { done: kind } },
    );
    const opened = await fleet.ask('POST', `/v1/devices/${id}/shift/open`);
    expect(opened).toMatchObject({ status: 200, body: { state: 'done', result: { done: 'shift_open' } } });
    expect((await fleet.ask('GET', `/v1/devices/${id}/shift`)).body['result']).toEqual({ done: 'shift_status' });
    expect((await fleet.ask('POST', `/v1/devices/${id}/check`)).body['result']).toEqual({ done: 'check' });
    const refused = await fleet.ask('POST', `/v1/devices/${id}/shift/close`);
    expect(refused).toMatchObject({ status: 422, body: { code: 'device_refused', errors: [{ code: 'F-003' }] } });
    await relay.stop();
    expect(relay.asked).toEqual(['shift_open', 'shift_status', 'check', 'shift_close']);
    expect((await fleet.gateway.audited(id)).map(({ action }) => action)).toEqual([
      'device.shift_open',
      'device.shift_close',
    ]);
    await fleet.ask('POST', `/v1/devices/${id}/disable`);
    expect((await fleet.ask('POST', `/v1/devices/${id}/check`)).body.code).toBe('device_disabled');
  });

  test('202 with a location for what takes longer; its result is found there when it is done', async () => {
    const { deviceId: id } = await fleet.gateway.createDevice();
    const relay = fleet.answerTasks(() => null);
    const pending = fleet.ask('POST', `/v1/devices/${id}/shift/close`);
    await untilTrue(() => relay.asked.length > 0, 'the relay is asked');
    await relay.stop();
    // As on a stop of the program: who waits is answered at once, and what was asked is done all the same.
    const tasks = fleet.gateway.app.get(DeviceTasks, { strict: false });
    await untilTrue(
      async () => (await fleet.gateway.prisma.deviceTask.count({ where: { deviceId: id } })) > 0,
      'the task is there',
    );
    tasks.releaseAll();
    const { status, headers, body } = await pending;
    expect({ status, body }).toMatchObject({ status: 202, body: { state: 'pending', result: null } });
    const location = headers.get('location') ?? '';
    expect((await fleet.ask('GET', location)).body).toMatchObject({ state: 'running', result: null, error: null });
    await fleet.gateway.prisma.$executeRaw`
      UPDATE device_tasks SET state = 'done', finished_at = now(), result = '{"kind":"ok","value":{"number":1}}'
       WHERE device_id = ${id}`;
    expect((await fleet.ask('GET', location)).body).toMatchObject({ state: 'done', result: { number: 1 } });
  });
});
