// Promise: whatever one end of a link does wrong, the other end cuts it and no request is carried out twice, late or elsewhere.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebSocketServer } from 'ws';
import { createLogger, systemClock } from '#runtime';
import { answer, MisbehavingServer } from '../../local-api/src/testing/misbehaving-server.js';
import { encodeFrame, LINK_LIMITS, MAX_MESSAGE_BYTES } from './frames.js';
import { isAnswerTo, newChallenge, readHello } from './handshake.js';
import { LinkAgent } from './link-agent.js';
import { LinkKeyError, LinkKeys } from './link-keys.js';
import { readLinkUrl } from './link-url.js';
import { RegisterLink } from './register-link.js';
import { DEVICE, ends, HandRegister, HandRelay } from './testing/hand-ends.js';
import { untilTrue } from '../../runtime/src/testing/until.js';

const HEAD = { method: 'POST', path: '/receipts', headers: { 'X-API-Key': 'k' }, connectTimeoutMs: 2_000 };
const LIMITS = { timeoutMs: 3_000, maxAnswerBytes: 1_000 };
const BODY = Buffer.from('{"a":1}');
const lines: string[] = [];
const logger = createLogger('link', 'info', { write: (line) => void lines.push(line) });

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'link-'));
  lines.length = 0;
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  rmSync(folder, { recursive: true });
});

async function startRegister(react = (): string => answer(200, { success: true })): Promise<MisbehavingServer> {
  const server = new MisbehavingServer((socket) => socket.write(react()));
  await server.listen();
  ends.push(() => server.close());
  return server;
}

function startAgent(relay: HandRelay, register: { url: string }): LinkAgent {
  const agent = new LinkAgent({
    ...{ target: readLinkUrl(relay.url), registerUrl: register.url, dataDir: folder, logger, pausesMs: [20] },
    enrolmentCode: 'AAAA',
  });
  ends.push(() => agent.stop());
  agent.start();
  return agent;
}

async function linked(): Promise<{ relay: HandRelay; register: MisbehavingServer; agent: LinkAgent }> {
  const [relay, register] = [await new HandRelay().listening(), await startRegister()];
  const agent = startAgent(relay, register);
  await relay.accept();
  await untilTrue(() => agent.isLinked);
  return { relay, register, agent };
}

describe('the register’s end', () => {
  test('signs for the relay that it dialled, and for no other that is shown to it', async () => {
    const [relay, register] = [await new HandRelay().listening(), await startRegister()];
    startAgent(relay, register);
    const hello = readHello((await relay.receive()).header)!;
    expect(isAnswerTo(relay.challenges[0]!, hello)).toBe(true);
    expect(isAnswerTo({ ...relay.challenges[0]!, relay: 'other' }, hello)).toBe(false);
    expect(isAnswerTo(newChallenge(relay.host), hello)).toBe(false);
    expect(isAnswerTo(relay.challenges[0]!, { ...hello, code: 'BBBB' })).toBe(false);
    expect(isAnswerTo(relay.challenges[0]!, { ...hello, deviceId: 'dev_01bbbbbbbbbbbbbbbbbbbbbbbb' })).toBe(false);
    const middle = await new HandRelay(() => 'the.real.relay').listening();
    startAgent(middle, register);
    await untilTrue(() => middle.connections > 1);
    expect(middle.received).toEqual([]);
  });

  test('carries a call out and brings the answer', async () => {
    const { relay, register } = await linked();
    relay.say({ type: 'open', id: 1, head: HEAD, bodyBytes: BODY.length, sendWithinMs: 5_000 });
    expect((await relay.receive()).header).toEqual({ type: 'ready', id: 1 });
    expect([register.connections, register.bytesReceived]).toEqual([1, 0]);
    relay.say({ type: 'send', id: 1, limits: LIMITS }, BODY);
    expect(await relay.receive()).toMatchObject({
      header: { type: 'result', id: 1, kind: 'answered', httpStatus: 200 },
    });
    expect(register.requests.map(({ body }) => body)).toEqual([BODY.toString()]);
  });

  test('leads to its one register and to the local API alone', async () => {
    const { relay, register } = await linked();
    const other = await startRegister();
    const paths = [
      '/',
      '/emulator/faults',
      `${other.url}/receipts`,
      `//${new URL(other.url).host}/receipts`,
      '/receipts/../x',
    ];
    for (const [index, path] of paths.entries()) {
      relay.say({ type: 'call', id: index + 1, head: { ...HEAD, path }, limits: LIMITS }, BODY);
      expect((await relay.receive()).header).toMatchObject({ kind: 'not_sent', reason: 'path_not_allowed' });
    }
    expect([register.connections, other.connections]).toEqual([0, 0]);
  });

  test('a request that comes later than it was announced for is dropped, and answered as dropped', async () => {
    const { relay, register } = await linked();
    relay.say({ type: 'open', id: 1, head: HEAD, bodyBytes: BODY.length, sendWithinMs: 50 });
    await relay.receive();
    expect((await relay.receive()).header).toMatchObject({
      type: 'result',
      id: 1,
      kind: 'not_sent',
      reason: 'too_late',
    });
    relay.say({ type: 'send', id: 1, limits: LIMITS }, BODY);
    relay.say({ type: 'call', id: 2, head: { ...HEAD, method: 'GET', path: '/status' }, limits: LIMITS });
    expect((await relay.receive()).header).toMatchObject({ id: 2, kind: 'answered' });
    expect(register.requests.map(({ head }) => head.split(' ')[1])).toEqual(['/status']);
    // The same once more is no crossing of words any more.
    relay.say({ type: 'send', id: 1, limits: LIMITS }, BODY);
    expect(await relay.closed()).toBe(4005);
  });

  test.each([
    ['a call whose number was used', [{ type: 'call', id: 1, head: HEAD, limits: LIMITS }]],
    [
      'an older number',
      [
        { type: 'cancel', id: 9 },
        { type: 'open', id: 0, head: HEAD, bodyBytes: 7, sendWithinMs: 9 },
      ],
    ],
    ['a body for a call that is over', [{ type: 'send', id: 1, limits: LIMITS }]],
    ['a body for a call that never was', [{ type: 'send', id: 8, limits: LIMITS }]],
  ])('replayed: %s', async (_name, frames) => {
    const { relay, register } = await linked();
    relay.say({ type: 'call', id: 1, head: HEAD, limits: LIMITS }, BODY);
    await relay.receive();
    for (const frame of frames) relay.say(frame, BODY);
    expect(await relay.closed()).toBe(4005);
    expect(register.requests).toHaveLength(1);
    expect(lines.join('')).toContain('"code":4005');
  });

  test.each([
    ['text', 'hello', 4004],
    ['no frame', Buffer.from([9]), 4004],
    ['an unknown word', encodeFrame({ type: 'reboot', id: 1 }), 4004],
    ['too much', Buffer.alloc(MAX_MESSAGE_BYTES), 1009],
  ])('malformed or oversized: %s', async (_name, data, code) => {
    const { relay } = await linked();
    relay.socket?.send(data);
    expect(await relay.closed()).toBe(code);
  });

  test('a body of another length than announced is not passed on', async () => {
    const { relay, register } = await linked();
    relay.say({ type: 'open', id: 1, head: HEAD, bodyBytes: 3, sendWithinMs: 5_000 });
    await relay.receive();
    relay.say({ type: 'send', id: 1, limits: LIMITS }, BODY);
    expect(await relay.closed()).toBe(4004);
    expect(register.bytesReceived).toBe(0);
  });

  test('more calls at once than allowed are refused, the others are served', async () => {
    const [relay, register] = [await new HandRelay().listening(), await startRegister(() => '')];
    const agent = startAgent(relay, register);
    await relay.accept();
    await untilTrue(() => agent.isLinked);
    for (let id = 1; id <= LINK_LIMITS.callsInFlight + 1; id += 1)
      relay.say({ type: 'call', id, head: HEAD, limits: LIMITS }, BODY);
    expect((await relay.receive()).header).toMatchObject({ id: 17, kind: 'not_sent', reason: 'register_busy' });
    await untilTrue(() => register.requests.length === LINK_LIMITS.callsInFlight);
  });

  test('silence of the relay ends the link, and it is dialled again', async () => {
    const [relay, register] = [await new HandRelay().listening(), await startRegister()];
    startAgent(relay, register);
    await relay.accept(40);
    await untilTrue(() => relay.connections === 2);
    await relay.accept();
  });

  test('after the end of the link nothing that was announced is sent', async () => {
    const { relay, register } = await linked();
    relay.say({ type: 'open', id: 1, head: HEAD, bodyBytes: BODY.length, sendWithinMs: 5_000 });
    await relay.receive();
    relay.socket?.terminate();
    await untilTrue(() => relay.connections === 2);
    await relay.accept();
    relay.say({ type: 'send', id: 1, limits: LIMITS }, BODY);
    expect(await relay.closed()).toBe(4005);
    expect(register.bytesReceived).toBe(0);
  });
});

describe('the relay’s end', () => {
  const open = async (): Promise<{ link: RegisterLink; register: HandRegister }> => {
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0, maxPayload: MAX_MESSAGE_BYTES });
    ends.push(() => {
      for (const socket of server.clients) socket.terminate();
      return new Promise((resolve) => server.close(resolve));
    });
    const accepted = new Promise<RegisterLink>((resolve) => {
      server.on('connection', (socket) =>
        resolve(
          new RegisterLink(socket, {
            deviceId: DEVICE,
            epoch: 1n,
            clock: systemClock,
            logger,
            onClosed: () => undefined,
          }),
        ),
      );
    });
    await untilTrue(() => server.address() !== null);
    const register = new HandRegister((server.address() as AddressInfo).port);
    return { link: await accepted, register: await register.opened() };
  };
  const request = { ...HEAD, method: 'POST' as const, body: BODY, confirmed: true };

  test.each([
    ['a second result', [{ type: 'result', id: 1, kind: 'failed', reason: 'reset' }], 4005],
    ['a result of a call that never was', [{ type: 'result', id: 7, kind: 'failed', reason: 'reset' }], 4005],
    ['a result that is none', [{ type: 'result', id: 1, kind: 'registered' }], 4004],
    ['a request of its own', [{ type: 'call', id: 1, head: HEAD, limits: LIMITS }], 4004],
  ])('%s cuts the link: it carries no calls into the relay', async (_name, frames, code) => {
    const { link, register } = await open();
    const opening = await link.open({ ...request, confirmed: false });
    if (opening.kind !== 'open') throw new Error(opening.reason);
    const sent = opening.call.send(LIMITS, () => true);
    await untilTrue(() => register.received.length === 1);
    register.say({ type: 'result', id: 1, kind: 'failed', reason: 'timeout' });
    expect(await sent).toEqual({ kind: 'failed', reason: 'timeout' });
    for (const frame of frames) register.say(frame);
    expect(await register.closed()).toBe(code);
    expect(lines.join('')).toContain(`"code":${code}`);
  });

  test('an oversized answer cuts the link, and the call is unclear', async () => {
    const { link, register } = await open();
    const opening = await link.open({ ...request, confirmed: false });
    if (opening.kind !== 'open') throw new Error(opening.reason);
    const sent = opening.call.send(LIMITS, () => true);
    register.sendRaw(Buffer.alloc(MAX_MESSAGE_BYTES + 1));
    expect(await sent).toEqual({ kind: 'failed', reason: 'reset' });
    expect(await register.closed()).toBe(1009);
  });

  test('a register that gives no sign of life is cut', async () => {
    const { link, register } = await open();
    link.beat(60_000);
    await untilTrue(() => register.pings === 1);
    link.beat(-1);
    expect(await register.closed()).toBe(4006);
    expect(await link.open(request)).toEqual({ kind: 'not_sent', reason: 'link_lost' });
  });

  test('calls beyond the bound do not wait: they are not sent', async () => {
    const { link } = await open();
    const waiting = Array.from({ length: LINK_LIMITS.callsInFlight }, () => link.open(request));
    expect(await link.open(request)).toEqual({ kind: 'not_sent', reason: 'link_busy' });
    link.cut(4003, 'revoked');
    expect(await Promise.all(waiting)).toEqual(waiting.map(() => ({ kind: 'not_sent', reason: 'link_lost' })));
  });

  test('a register that does not connect in time has got nothing', async () => {
    const { link, register } = await open();
    const opening = await link.open({ ...request, connectTimeoutMs: 1 });
    expect(opening).toEqual({ kind: 'not_sent', reason: 'connect_timeout' });
    await untilTrue(() => register.received.length === 2);
    expect(register.received.map(({ header }) => header['type'])).toEqual(['open', 'cancel']);
  });

  test('a request that no register takes is not handed over', async () => {
    const { link, register } = await open();
    const body = Buffer.alloc(LINK_LIMITS.requestBytes + 1);
    expect(await link.open({ ...request, body })).toEqual({ kind: 'not_sent', reason: 'request_too_large' });
    expect(register.received).toEqual([]);
  });
});

describe('the key file', () => {
  test('a code that was used already needs no fresh key; a new code gets one, and the old key stays until then', () => {
    const first = new LinkKeys(folder, DEVICE, 'AAAA');
    first.accept();
    const stored = readFileSync(join(folder, 'link-key.json'), 'utf8');
    expect(new LinkKeys(folder, DEVICE, 'AAAA').usable).not.toHaveProperty('code');
    expect(new LinkKeys(folder, DEVICE, undefined).usable).not.toHaveProperty('code');
    const next = new LinkKeys(folder, DEVICE, 'BBBB');
    expect(next.usable).toHaveProperty('code', 'BBBB');
    expect(readFileSync(join(folder, 'link-key.json'), 'utf8')).toBe(stored);
    expect(next.dropCode()).toBe(true);
    expect(next.usable).not.toHaveProperty('code');
  });

  test('begun and not finished: the same key is shown again', () => {
    const shown = (keys: LinkKeys): unknown => keys.usable?.privateKey.export({ format: 'jwk' });
    expect(shown(new LinkKeys(folder, DEVICE, 'AAAA'))).toEqual(shown(new LinkKeys(folder, DEVICE, 'AAAA')));
  });

  test('of another device counts as none; one that cannot be read is a person’s matter', () => {
    new LinkKeys(folder, DEVICE, 'AAAA').accept();
    expect(new LinkKeys(folder, 'dev_01bbbbbbbbbbbbbbbbbbbbbbbb', undefined).usable).toBeNull();
    writeFileSync(join(folder, 'link-key.json'), '{"privateKey": "x"}');
    expect(() => new LinkKeys(folder, DEVICE, undefined)).toThrow(LinkKeyError);
  });
});
