// Promise: what bounds a stranger ends with the proof: a register that was let in is cut for no answer that it may give.
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { LINK_LIMITS } from '#link';
import { CidrSet } from '#outgoing';
import { createLogger, systemClock } from '#runtime';
import { untilTrue } from '../../../../libs/runtime/src/testing/until.js';
import { newKey, RawRegister } from '../../../../test/links/raw-register.js';
import { LinkEndpoint } from './link-endpoint.js';
import { LinkSessions } from './link-sessions.js';
import type { LinkRepository } from './link.repository.js';

const DEVICE = 'dev_01aaaaaaaaaaaaaaaaaaaaaaaa';
const logger = createLogger('test', 'silent');
const server: Server = createServer();
let verify: () => Promise<never[]> = () => Promise.resolve([]);

const repository = {
  host: { relayId: 'rly_1', relayUrl: 'http://127.0.0.1' },
  admit: () => Promise.resolve({ kind: 'admitted', epoch: 1n, linkKeyId: 'lky_1', enrolled: true, tookOverFrom: null }),
  findEnded: () => verify(),
  leave: () => Promise.resolve(),
  leaveAll: () => Promise.resolve(),
} as unknown as LinkRepository;
const sessions = new LinkSessions(repository, {} as never, systemClock, logger);

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const relay = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const options = { relay, proxies: new CidrSet([]), logger, count: () => undefined };
  new LinkEndpoint(repository, sessions, options).attach(server);
});
afterAll(async () => {
  await sessions.stop();
  await new Promise((resolve) => server.close(resolve));
});

test('its answer is larger than a handshake, while the database is still asked whether its right was taken', async () => {
  verify = () => delay(500).then(() => []);
  const raw = new RawRegister(`ws://127.0.0.1:${(server.address() as AddressInfo).port}/link?device=${DEVICE}`);
  expect(await raw.greet({ deviceId: DEVICE, privateKey: newKey() })).toMatchObject({ type: 'accepted' });
  const opening = await sessions
    .transportTo(DEVICE, 'lky_1')
    .open({ method: 'GET', path: '/status', headers: {}, body: null, connectTimeoutMs: 1_000, confirmed: false });
  if (opening.kind !== 'open') throw new Error(opening.reason);
  const answer = opening.call.send({ timeoutMs: 5_000, maxAnswerBytes: 1_000_000 }, () => true);
  const call = await raw.next();
  const body = Buffer.alloc(40 * LINK_LIMITS.handshakeBytes, 'x');
  raw.send({ type: 'result', id: call?.header['id'], kind: 'answered', httpStatus: 200, headers: {} }, body);
  expect(await answer).toMatchObject({ kind: 'answered', httpStatus: 200 });
  raw.end();
});

test.each(['/elsewhere', '/link'])(
  'a dialler that is refused (%s) and keeps its end open keeps no connection',
  async (path) => {
    const { port } = server.address() as AddressInfo;
    const open = (): Promise<number> =>
      new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));
    await untilTrue(async () => (await open()) === 0, 'the ones before have ended');
    const dialler = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    let answer = '';
    dialler.setEncoding('latin1').on('data', (text: string) => (answer += text));
    // What it sends afterwards may meet a reset.
    dialler.on('error', () => undefined);
    dialler.write(`GET ${path} HTTP/1.1\r\nHost: relay\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
    try {
      await untilTrue(() => answer.endsWith('\r\n\r\n'), 'it is answered');
      expect(answer).toMatch(/^HTTP\/1\.1 40[04] /);
      await untilTrue(async () => (await open()) === 0, 'its connection has ended');
    } finally {
      dialler.destroy();
    }
  },
);
