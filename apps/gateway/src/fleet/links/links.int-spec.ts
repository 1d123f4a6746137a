// Promise: only the merchant's own administrator lets a register dial in or shuts it out; the code is shown once and kept as a hash.
import { randomBytes } from 'node:crypto';
import { apiKeyOwner } from '#database';
import { hashEnrolmentCode } from '#link';
import { newId } from '#runtime';
import { open } from '#secrets';
import { OperatorFixture } from '../../operator/testing/operator-fixture.js';
import type { GatewaySettings } from '../../settings.js';
import { SETTINGS_TOKEN } from '../../tokens.js';

let fixture: OperatorFixture;
let token: string;

beforeAll(async () => {
  fixture = await OperatorFixture.start();
  token = await fixture.createToken(fixture.merchantId, ['devices:admin']);
});
afterAll(() => fixture.stop());

interface Enrolment {
  code: string;
  expires_at: string;
  link_url: string;
}

async function enrol(
  deviceId: string,
  by = token,
  given: Record<string, unknown> = {},
): Promise<{ status: number; body: Enrolment & { code: string } }> {
  const { status, body } = await fixture.post(`/v1/devices/${deviceId}/enrolments`, given, by);
  return { status, body: body as unknown as Enrolment };
}

async function revoke(deviceId: string, by = token): Promise<{ status: number; body: string }> {
  const headers = { authorization: `Bearer ${by}` };
  const response = await fetch(`${fixture.base}/v1/devices/${deviceId}/link-key`, { method: 'DELETE', headers });
  return { status: response.status, body: await response.text() };
}

async function linkDevice(merchantId = fixture.merchantId): Promise<string> {
  const { deviceId } = await fixture.createDevice({ merchantId });
  await fixture.prisma.device.update({ where: { id: deviceId }, data: { transport: 'link', baseUrl: null } });
  return deviceId;
}

const codesOf = (deviceId: string) => fixture.prisma.linkEnrolment.findMany({ where: { deviceId } });

test('a code, its end and where to dial; only its hash is kept, and never on the trail', async () => {
  const deviceId = await linkDevice();
  const { status, body } = await enrol(deviceId);
  expect(status).toBe(201);
  expect(body).toEqual({
    code: expect.stringMatching(/^([0-9A-HJKMNP-TV-Z]{4}-){5}[0-9A-HJKMNP-TV-Z]{4}$/),
    expires_at: expect.any(String),
    link_url: `wss://links.test/link?device=${deviceId}`,
    qr_svg: expect.stringMatching(/^<svg .*<\/svg>$/),
  });
  const minutes = (Date.parse(body.expires_at) - Date.now()) / 60_000;
  expect(minutes).toBeGreaterThan(50);
  expect(minutes).toBeLessThan(70);
  const [row] = await codesOf(deviceId);
  expect(Buffer.from(row!.codeHash)).toEqual(hashEnrolmentCode(body.code));
  const [record] = await fixture.audited(deviceId);
  expect(record).toMatchObject({ action: 'device.link_enrol', after: { expires_at: body.expires_at } });
  expect(JSON.stringify(record)).not.toContain(body.code);
});

test('a newer code replaces an unused one: a client that asks without end leaves one row', async () => {
  const deviceId = await linkDevice();
  for (let tries = 0; tries < 5; tries += 1) expect((await enrol(deviceId)).status).toBe(201);
  expect(await codesOf(deviceId)).toHaveLength(1);
});

test('revoking ends key and code, on the trail; once more changes nothing', async () => {
  const deviceId = await linkDevice();
  await enrol(deviceId);
  const id = newId('lky');
  await fixture.prisma.linkKey.create({ data: { id, deviceId, publicKey: new Uint8Array(32).fill(7) } });
  expect(await revoke(deviceId)).toEqual({ status: 204, body: '' });
  expect(await codesOf(deviceId)).toEqual([]);
  const revokedAt = (await fixture.prisma.linkKey.findUniqueOrThrow({ where: { id } })).revokedAt;
  expect(revokedAt).not.toBeNull();
  expect((await revoke(deviceId)).status).toBe(204);
  expect((await fixture.prisma.linkKey.findUniqueOrThrow({ where: { id } })).revokedAt).toEqual(revokedAt);
  const records = await fixture.audited(deviceId);
  expect(records[1]).toMatchObject({ action: 'device.link_revoke', before: { keys: [id], open_codes: 1 } });
});

test('a foreign, deleted, unknown or impossible id is not found; nothing is written', async () => {
  const stranger = await linkDevice(await fixture.createMerchant());
  const deleted = await linkDevice();
  await fixture.prisma.device.update({ where: { id: deleted }, data: { deletedAt: new Date() } });
  for (const id of [stranger, deleted, newId('dev'), 'dev_1', '%00', '..%2f..']) {
    const before = await fixture.world();
    expect([id, (await enrol(id)).status]).toEqual([id, 404]);
    expect([id, (await revoke(id)).status]).toEqual([id, 404]);
    expect(await fixture.world()).toBe(before);
    if (id.length > 20) expect(await codesOf(id)).toEqual([]);
  }
});

test('a device that is called at its address has no link', async () => {
  const { deviceId } = await fixture.createDevice();
  expect(await enrol(deviceId)).toMatchObject({ status: 409, body: { code: 'device_not_linked' } });
  expect((await revoke(deviceId)).status).toBe(409);
});

test('without the scope: refused', async () => {
  const deviceId = await linkDevice();
  expect((await enrol(deviceId, fixture.token)).status).toBe(403);
  expect((await revoke(deviceId, fixture.token)).status).toBe(403);
  expect((await revoke(deviceId, 'nonsense')).status).toBe(401);
});

describe('a device that was enrolled before', () => {
  const enrolled = async (revoked: boolean): Promise<string> => {
    const deviceId = await linkDevice();
    const publicKey = new Uint8Array(randomBytes(32));
    const revokedAt = revoked ? new Date() : null;
    await fixture.prisma.linkKey.create({ data: { id: newId('lky'), deviceId, publicKey, revokedAt } });
    return deviceId;
  };

  test.each([false, true])(
    '422 secret_required without the API key (its link key revoked: %s); no code is made',
    async (revoked) => {
      const deviceId = await enrolled(revoked);
      const refused = await enrol(deviceId);
      expect(refused).toMatchObject({
        status: 422,
        body: { code: 'secret_required', errors: [{ pointer: '/api_key' }] },
      });
      expect(await codesOf(deviceId)).toEqual([]);
    },
  );

  test('201 with it: kept sealed beside the code, and the device keeps its own until the code is used', async () => {
    const deviceId = await enrolled(false);
    const before = await fixture.prisma.device.findUniqueOrThrow({ where: { id: deviceId } });
    const { status, body } = await enrol(deviceId, token, { api_key: 'entered-again' });
    expect(status).toBe(201);
    const [row] = await codesOf(deviceId);
    const { SECRETS_KEY } = fixture.app.get<GatewaySettings>(SETTINGS_TOKEN);
    expect(open(row!.apiKeySealed!, apiKeyOwner(deviceId), SECRETS_KEY)).toBe('entered-again');
    expect(await fixture.prisma.device.findUniqueOrThrow({ where: { id: deviceId } })).toEqual(before);
    expect(JSON.stringify([body, await fixture.audited(deviceId)])).not.toContain('entered-again');
  });
});
