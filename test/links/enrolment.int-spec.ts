// Promise: only the register that was enrolled dials in as itself, and from the moment its right is taken nothing goes over its link.
import { readdirSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { newId } from '#runtime';
import {
  API_KEY,
  startTestRegister,
  type TestRegister,
} from '../../apps/cash-register/src/testing/register-fixture.js';
import { LinkRepository } from '../../apps/device-relay/src/links/link.repository.js';
import { answerChallenge, newChallenge } from '../../libs/link/src/handshake.js';
import { newEnrolmentCode } from '../../libs/link/src/enrolment-code.js';
import { sql } from '../system/database.js';
import { until } from '../../libs/runtime/src/testing/until.js';
import { LinkRig, type LinkedDevice, type TestDevice } from './link-rig.js';
import { newKey, RawRegister } from './raw-register.js';

let rig: LinkRig;
let register: TestRegister;

beforeAll(async () => {
  rig = await LinkRig.start(1);
  register = await startTestRegister();
});
afterEach(() => rig.endTest());
afterAll(async () => {
  await rig.stop();
  await register.close();
});

/** Writes bytes and reads until the relay closes. */
function exchange(port: number, host: string, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, host, () => socket.write(bytes));
    let received = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (received += chunk));
    socket.on('error', reject).on('close', () => resolve(received));
  });
}

function dial(device: { id: string }): RawRegister {
  const raw = new RawRegister(rig.linkUrl(rig.relay(), device.id));
  rig.atEnd(() => raw.end());
  return raw;
}

const device = (): Promise<TestDevice> => rig.createDevice({ apiKey: API_KEY });
const linkedDevice = (): Promise<LinkedDevice> =>
  rig.linked(rig.relay(), { apiKey: API_KEY, registerUrl: register.url });
const callOf = (one: TestDevice) => rig.clientOn(rig.relay(), one).status();
const cut = (one: LinkedDevice) =>
  until(
    'the link is cut',
    () => one.agent.isLinked,
    (linked) => !linked,
  );
const keysOf = (deviceId: string) => rig.prisma.linkKey.findMany({ where: { deviceId } });

test('one address that says nothing holds at most its share of the handshakes, and others still connect', async () => {
  const one = await device();
  const silent = Array.from({ length: 50 }, () => dial(one));
  await Promise.all(silent.map((each) => each.next()));
  const shutOut = dial(one);
  expect(await shutOut.next()).toBeNull();
  expect(shutOut.failed).toContain('503');
  silent[0]?.end();
  await until(
    'a place is free',
    async () => (await dial(one).next()) !== null,
    (isIn) => isIn,
  );
});

describe('an enrolment code', () => {
  test('leaves the key once; the register comes back with the key alone', async () => {
    const one = await device();
    const key = { deviceId: one.id, privateKey: newKey() };
    expect(await dial(one).greet({ ...key, code: await rig.newCode(one.id) })).toMatchObject({
      type: 'accepted',
      epoch: '1',
    });
    expect(await dial(one).greet(key)).toMatchObject({ type: 'accepted', epoch: '2' });
  });

  test('typed in lower case and with blanks is the same code', async () => {
    const one = await device();
    const code = (await rig.newCode(one.id)).toLowerCase().replaceAll('-', ' ');
    expect(await dial(one).greet({ deviceId: one.id, privateKey: newKey(), code })).toMatchObject({ type: 'accepted' });
  });

  test('used twice, expired, unknown, of another merchant: refused, and the other one is not used up by it', async () => {
    const [one, other] = [
      await device(),
      await rig.createDevice({ apiKey: API_KEY, merchantId: await rig.createMerchant() }),
    ];
    const used = await rig.newCode(one.id);
    await dial(one).greet({ deviceId: one.id, privateKey: newKey(), code: used });
    const foreign = await rig.newCode(other.id);
    const refusals: [string, string][] = [
      [used, 'code_used'],
      [await rig.newCode(one.id, -1), 'code_expired'],
      ['AAAA-BBBB', 'code_unknown'],
      [foreign, 'code_unknown'],
    ];
    for (const [code, reason] of refusals) {
      const raw = dial(one);
      const verdict = await raw.greet({ deviceId: one.id, privateKey: newKey(), code });
      expect(verdict).toEqual({ type: 'refused', reason });
      expect(await raw.untilClosed()).toMatchObject({ code: 4001 });
    }
    expect(await keysOf(one.id)).toHaveLength(1);
    expect(await dial(other).greet({ deviceId: other.id, privateKey: newKey(), code: foreign })).toMatchObject({
      type: 'accepted',
    });
  });

  test('of ten registers that come with one code at the same moment one is let in', async () => {
    const one = await device();
    const code = await rig.newCode(one.id);
    const verdicts = await Promise.all(
      Array.from({ length: 10 }, () => dial(one).greet({ deviceId: one.id, privateKey: newKey(), code })),
    );
    expect(verdicts.filter((verdict) => verdict?.['type'] === 'accepted')).toHaveLength(1);
    expect(await keysOf(one.id)).toHaveLength(1);
  });

  test('whose answer was lost is shown again with the same key, and let in', async () => {
    const one = await device();
    const who = { deviceId: one.id, privateKey: newKey(), code: await rig.newCode(one.id) };
    await dial(one).greet(who);
    expect(await dial(one).greet(who)).toMatchObject({ type: 'accepted' });
    expect(await keysOf(one.id)).toHaveLength(1);
  });

  test('a new one replaces the key, and the older register is shut out', async () => {
    const first = await linkedDevice();
    const second = rig.agent(rig.relay(), first, { registerUrl: register.url, code: await rig.newCode(first.id) });
    await until('the second is linked', () => second.isLinked, Boolean);
    await cut(first);
    expect((await keysOf(first.id)).filter(({ revokedAt }) => revokedAt === null)).toHaveLength(1);
    expect(await callOf(await rig.asStored(first))).toMatchObject({ kind: 'ok' });
  });

  test('brings the API key that was entered with it; the one before is never given to the new register', async () => {
    const one = await linkedDevice();
    const before = rig.clientOn(rig.relay(), one, { callTimeoutMs: 2_000 });
    expect(await before.fmInfo()).toMatchObject({ kind: 'ok' });
    const code = await rig.newCode(one.id, 600, 'entered-again-0123456789');
    const other = dial(one);
    const verdict = await other.greet({ deviceId: one.id, privateKey: newKey(), code });
    expect(verdict).toMatchObject({ type: 'accepted' });
    // A lane that read the device a moment ago still has the key of the register before.
    expect(await before.fmInfo()).toEqual({ kind: 'unreachable', reason: 'link_of_another_key' });
    expect(other.heard).toEqual([]);
    const now = await rig.asStored(one);
    void rig.clientOn(rig.relay(), now, { callTimeoutMs: 2_000 }).fmInfo();
    const call = await other.next();
    expect(JSON.stringify(call?.header)).toContain('entered-again-0123456789');
    expect(JSON.stringify(call?.header)).not.toContain(API_KEY);
    expect(
      await rig.prisma.linkEnrolment.findMany({ where: { deviceId: one.id, apiKeySealed: { not: null } } }),
    ).toEqual([]);
  });

  test('that is worth nothing does not cost the register the key that it has', async () => {
    const one = await linkedDevice();
    await one.agent.stop();
    const again = rig.agent(rig.relay(), one, { registerUrl: register.url, code: 'AAAA-BBBB', dataDir: one.dataDir });
    await until('the older key is used', () => again.isLinked, Boolean);
  });
});

test('the key lies in the data folder for its owner alone', async () => {
  const { dataDir } = await linkedDevice();
  expect(readdirSync(dataDir)).toEqual(['link-key.json']);
  expect(statSync(join(dataDir, 'link-key.json')).mode & 0o777).toBe(0o600);
});

describe('refused', () => {
  test('a key that was never enrolled, another register with its own key, a device that is called by address or is not there', async () => {
    const [one, other] = [await device(), await device()];
    const key = { deviceId: other.id, privateKey: newKey() };
    await dial(other).greet({ ...key, code: await rig.newCode(other.id) });
    const http = await rig.createDevice({ apiKey: API_KEY, baseUrl: 'http://127.0.0.1:9' });
    const cases: [string, string][] = [
      [one.id, 'key_unknown'],
      [http.id, 'device_unknown'],
      [newId('dev'), 'device_unknown'],
    ];
    for (const [deviceId, reason] of cases) {
      expect(await dial(one).greet({ ...key, deviceId })).toEqual({ type: 'refused', reason });
    }
    const code = await rig.newCode(one.id);
    expect(await dial(one).greet({ ...key, deviceId: one.id, code })).toEqual({ type: 'refused', reason: 'key_taken' });
  });

  test('an answer to another challenge, or one that another relay asked for', async () => {
    const one = await device();
    const who = { deviceId: one.id, privateKey: newKey(), code: await rig.newCode(one.id) };
    const wrong = { type: 'refused', reason: 'signature_wrong' };
    expect(await dial(one).greet(who, (challenge) => ({ ...challenge, nonce: 'x'.repeat(43) }))).toEqual(wrong);
    expect(await dial(one).greet(who, (challenge) => ({ ...challenge, relay: 'evil.example' }))).toEqual(wrong);
    expect(await keysOf(one.id)).toEqual([]);
  });

  test('a key whose signatures can be made without a private key', async () => {
    const one = await device();
    const raw = dial(one);
    await raw.next();
    const publicKey = Buffer.from(`01${'00'.repeat(31)}`, 'hex').toString('base64url');
    const signature = Buffer.from(`58${'66'.repeat(31)}01${'00'.repeat(31)}`, 'hex').toString('base64url');
    raw.send({ type: 'hello', deviceId: one.id, publicKey, signature, code: await rig.newCode(one.id) });
    expect((await raw.next())?.header).toEqual({ type: 'refused', reason: 'signature_wrong' });
    expect(await keysOf(one.id)).toEqual([]);
  });

  test('rubbish, text, too much, another path, another protocol', async () => {
    const one = await device();
    const say = async (data: string | Buffer): Promise<number> => {
      const raw = dial(one);
      await raw.next();
      raw.sendRaw(data);
      return (await raw.untilClosed()).code;
    };
    expect(await say('hello')).toBe(4004);
    expect(await say(Buffer.from([0, 0]))).toBe(4004);
    expect(await say(Buffer.from([255, 255, 255, 255, 1]))).toBe(4004);
    expect(await say(Buffer.from('\0\0\0\x02{}'))).toBe(4004);
    // Cut at the socket: not even gathered.
    expect(await say(Buffer.alloc(1_000_000))).toBe(1006);
    const url = new URL(rig.linkUrl(rig.relay(), one.id));
    url.pathname = '/other';
    const { hostname, port } = new URL(rig.linkUrl(rig.relay(), one.id));
    const twice = `GET ${url.pathname} HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
    expect(await exchange(Number(port), hostname, twice)).toMatch(/^HTTP\/1\.1 400 /);
    for (const [raw, status] of [
      [new RawRegister(url.href), 404],
      [new RawRegister(rig.linkUrl(rig.relay(), one.id), 'fiscal-link.v9'), 400],
    ] as const) {
      await raw.untilClosed();
      expect(raw.failed).toContain(String(status));
    }
  });
});

describe('taking the right away', () => {
  test('revoking the key cuts the link at once, and the key opens nothing any more', async () => {
    const one = await linkedDevice();
    await rig.prisma.linkKey.updateMany({ where: { deviceId: one.id }, data: { revokedAt: new Date() } });
    await cut(one);
    expect(await callOf(one)).toEqual({ kind: 'unreachable', reason: 'link_absent' });
    await until(
      'it is refused',
      () => rig.agentLines.join(''),
      (lines) => lines.includes('key_revoked'),
    );
  });

  test('a disabled device is cut, and comes back when it is enabled; a deleted one does not', async () => {
    const [disabled, deleted] = [await linkedDevice(), await linkedDevice()];
    await rig.prisma.device.update({ where: { id: disabled.id }, data: { state: 'disabled' } });
    await rig.prisma.device.update({ where: { id: deleted.id }, data: { deletedAt: new Date() } });
    await Promise.all([cut(disabled), cut(deleted)]);
    expect(await callOf(disabled)).toMatchObject({ kind: 'unreachable' });
    // After the answer that it is disabled, it comes back only after a long pause: a fresh one does not wait.
    await disabled.agent.stop();
    await rig.prisma.device.update({ where: { id: disabled.id }, data: { state: 'online' } });
    const again = rig.agent(rig.relay(), disabled, { registerUrl: register.url, dataDir: disabled.dataDir });
    await until('it is back', () => again.isLinked, Boolean);
  });

  test('also while the relay could not receive the notice', async () => {
    const one = await linkedDevice();
    // Past the check that follows each admission: it would see the revocation as well, and prove nothing.
    await new Promise((resolve) => setTimeout(resolve, 500));
    // The notice is lost: as if no relay had listened in this very moment.
    await sql(rig.database, 'ALTER TABLE link_keys DISABLE TRIGGER link_keys_tell_link_changed');
    await rig.prisma.linkKey.updateMany({ where: { deviceId: one.id }, data: { revokedAt: new Date() } });
    await sql(rig.database, 'ALTER TABLE link_keys ENABLE TRIGGER link_keys_tell_link_changed');
    await sql(
      rig.database,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'device-relay-listen' AND datname = current_database()`,
    );
    await cut(one);
  });
});

test('a stranger who knows the id is refused without a lock on the register, which others hold or write meanwhile', async () => {
  const one = await device();
  const wrong = newEnrolmentCode();
  const verdicts = await rig.prisma.$transaction(
    async (tx) => {
      await tx.$queryRaw`SELECT 1 FROM devices WHERE id = ${one.id} FOR NO KEY UPDATE`;
      const links = new LinkRepository(rig.prisma, { relayId: 'r', relayUrl: 'http://r' });
      const admit = (code?: string): Promise<unknown> =>
        links.admit(answerChallenge(newChallenge('r'), { deviceId: one.id, privateKey: newKey(), code }));
      return [await admit(), await admit(wrong)];
    },
    { timeout: 60_000 },
  );
  expect(verdicts).toEqual([
    { kind: 'refused', reason: 'key_unknown' },
    { kind: 'refused', reason: 'code_unknown' },
  ]);
});
