// Promise: nothing of another merchant can be read, changed, named or distinguished from what does not exist; scopes hold.
import 'reflect-metadata';
import { newId } from '#runtime';
import { FleetFixture } from '../devices/testing/fleet-fixture.js';

let fleet: FleetFixture;
let stranger: { merchantId: string; token: string };
const own: Record<string, string> = {};

beforeAll(async () => {
  fleet = await FleetFixture.start();
  stranger = await fleet.stranger();
  own['dev'] = (await fleet.gateway.createDevice()).deviceId;
  own['brn'] = fleet.merchantId.replace('mer_', 'brn_');
  own['csh'] = (await fleet.ask('POST', '/v1/cashiers', { code: 'c', name: 'C', branch_id: 'main' })).body.id;
  own['grp'] = (await fleet.ask('POST', '/v1/groups', { code: 'g', name: 'G' })).body.id;
  own['tsk'] = newId('tsk');
  await fleet.gateway.prisma.$executeRaw`
    INSERT INTO device_tasks (id, device_id, kind, actor, expires_at, state)
    VALUES (${own['tsk']}, ${own['dev']}, 'check', 'x', now(), 'done')`;
});

afterAll(() => fleet?.stop());

/** Every route of the fleet that names something. */
const NAMING: [method: string, path: string, body?: unknown][] = [
  ['GET', '/v1/devices/:dev'],
  ['PATCH', '/v1/devices/:dev', { name: 'Mine' }],
  ['DELETE', '/v1/devices/:dev'],
  ...['disable', 'enable', 'drain', 'resume', 'check', 'shift/open', 'shift/close'].map((what): [string, string] => [
    'POST',
    `/v1/devices/:dev/${what}`,
  ]),
  ['GET', '/v1/devices/:dev/shift'],
  ['GET', '/v1/devices/:dev/attempts'],
  ['GET', '/v1/devices/:dev/z-reports'],
  ['GET', '/v1/devices/:dev/tasks/:tsk'],
  ...['branches/:brn', 'cashiers/:csh', 'groups/:grp'].flatMap((path): [string, string, unknown?][] => [
    ['GET', `/v1/${path}`],
    ['PATCH', `/v1/${path}`, { name: 'Mine' }],
    ['DELETE', `/v1/${path}`],
    ['POST', `/v1/${path}/restore`],
  ]),
];

const LISTING: typeof NAMING = [
  ['GET', '/v1/merchant'],
  ['PATCH', '/v1/merchant', {}],
  ...['devices', 'branches', 'cashiers', 'groups'].flatMap((path): typeof NAMING => [
    ['GET', `/v1/${path}`],
    ['POST', `/v1/${path}`, {}],
  ]),
];

const filled = (path: string, ids: Record<string, string>): string =>
  path.replace(/:(\w{3})/g, (_all, id: string) => ids[id] ?? '');

test('foreign, missing and malformed are the same 404 on every route, and change nothing', async () => {
  const missing = { dev: newId('dev'), brn: newId('brn'), csh: newId('csh'), grp: newId('grp'), tsk: newId('tsk') };
  const malformed = { dev: 'x', brn: 'x', csh: 'x', grp: 'x', tsk: 'x' };
  const before = await fleet.gateway.world();
  for (const [method, path, body] of NAMING) {
    const answers = await Promise.all(
      [missing, own, malformed].map((ids) => fleet.ask(method, filled(path, ids), body, stranger.token)),
    );
    const answered = answers.map(({ status, body: { code, detail } }) => [method, path, status, code, detail]);
    const expected = [method, path, 404, 'not_found', answers[0]?.body.detail];
    expect(answered).toEqual([expected, expected, expected]);
  }
  expect(await fleet.gateway.world()).toBe(before);
});

test('every route needs devices:admin', async () => {
  const token = await fleet.gateway.createToken(fleet.merchantId, ['receipts:write', 'operator:resolve']);
  for (const [method, path, body] of [...NAMING, ...LISTING]) {
    const { status, body: problem } = await fleet.ask(method, filled(path, own), body, token);
    expect([method, path, status, problem.code]).toEqual([method, path, 403, 'insufficient_scope']);
  }
});

test('foreign devices, branches and groups cannot be named, nor is anything of theirs listed', async () => {
  const { token } = stranger;
  const named: [string, unknown, string][] = [
    ['/v1/branches', { code: 'b', name: 'B', default_device_id: own['dev'] }, 'device_unknown'],
    ['/v1/groups', { code: 'b', name: 'B', default_device_id: own['dev'] }, 'device_unknown'],
    ['/v1/cashiers', { code: 'b', name: 'B', default_device_id: own['dev'] }, 'device_unknown'],
    ['/v1/cashiers', { code: 'b', name: 'B', branch_id: own['brn'] }, 'branch_unknown'],
    ['/v1/devices', fleet.deviceBody({ group_id: own['grp'] }), 'group_unknown'],
  ];
  for (const [path, body, code] of named) {
    expect((await fleet.ask('POST', path, body, token)).body.code).toBe(code);
  }
  for (const path of ['/v1/devices', '/v1/cashiers', '/v1/groups'])
    expect((await fleet.ask('GET', path, undefined, token)).body.data).toEqual([]);
  expect((await fleet.ask('GET', '/v1/merchant', undefined, token)).body.id).toBe(stranger.merchantId);
});
