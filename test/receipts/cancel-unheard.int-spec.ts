// Promise: a receipt that was cancelled is never sent, also by a relay that was not notified and that had it in hand already.
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { AdvisoryLaneLocks } from '../../apps/device-relay/src/lanes/advisory-lane-locks.js';
import { RegisterConnections } from '../../apps/device-relay/src/devices/register-connections.js';
import { later } from '../../apps/device-relay/src/shares/places.js';
import { joinLane } from '../../apps/device-relay/src/lanes/join-lane.js';
import { answersInMemory } from '../../apps/device-relay/src/lanes/testing/answers-in-memory.js';
import { LaneRows } from '../../apps/device-relay/src/lanes/testing/lane-rows.js';
import { INFO, NO_LINKS, SALE, STATUS } from '../../apps/device-relay/src/lanes/testing/register-answers.js';
import { CancelReceipt } from '../../apps/gateway/src/receipts/cancel-receipt.js';
import { ReceiptRepository } from '../../apps/gateway/src/receipts/receipt.repository.js';
import { answer, MisbehavingServer } from '../../libs/local-api/src/testing/misbehaving-server.js';
import { untilTrue } from '../../libs/runtime/src/testing/until.js';
import { apiKeyOwner, KnownServer } from '#database';
import { OutgoingGuard, parseCidr } from '#outgoing';
import { createLogger, systemClock } from '#runtime';
import { parseKeyring, seal } from '#secrets';

const logger = createLogger('test', 'silent');
const keyring = parseKeyring(randomBytes(32).toString('base64'));

let rows: LaneRows;
let locks: AdvisoryLaneLocks;

beforeAll(async () => {
  rows = await LaneRows.start();
  locks = new AdvisoryLaneLocks({ databaseUrl: rows.database.url, relayId: 'rly_ours' }, logger);
  locks.onApplicationBootstrap();
  await untilTrue(() => locks.isConnected, 'the session for locks');
});
afterAll(async () => {
  await locks?.onApplicationShutdown();
  await rows?.stop();
});

test('cancelled between the relay’s reading of the lane and its intent, without a notice', async () => {
  const [cancelled, behind] = [await rows.createReceipt(), await rows.createReceipt()];
  const address = { databaseUrl: rows.database.url, applicationName: 'test' };
  const known = new KnownServer(rows.prisma, address, createLogger('test', 'silent'));
  const cancelling = new CancelReceipt(rows.prisma, new ReceiptRepository(rows.prisma), known);
  let hasCancelled: boolean | null = null;
  const server = new MisbehavingServer((socket, { head }) => {
    const path = head.split(' ')[1];
    if (path === '/fm/info') return void socket.write(answer(200, INFO));
    if (head.startsWith('POST')) return void socket.write(answer(200, SALE));
    // The relay has read the lane and asks who is there. The gateway dies after this commit: no notice, no bell.
    void (hasCancelled === null ? cancelling.cancel('mer_1', cancelled) : Promise.resolve(hasCancelled)).then((is) => {
      hasCancelled = is;
      socket.write(answer(200, STATUS));
    });
  });
  const profile = { sendTimeoutMs: 5_000, callTimeoutMs: 5_000, pacingMs: 0, settleMs: 0 };
  await rows.sql.query('UPDATE devices SET base_url = $1, api_key_sealed = $2, profile = $3', [
    await server.listen(),
    seal('key', apiKeyOwner(rows.deviceId), keyring),
    JSON.stringify(profile),
  ]);
  const loopback = parseCidr('127.0.0.0/8');
  const guard = OutgoingGuard.forDevices(loopback.kind === 'ok' ? [loopback.cidr] : []);
  const registers = new RegisterConnections(keyring, guard, NO_LINKS);
  const notified: string[] = [];
  const answers = answersInMemory(rows.ours, delay);
  const notices = { notify: (id: string) => void notified.push(id) };
  const world = { store: rows.ours, locks, registers, notices, answers };
  const lane = joinLane(world, { clock: systemClock, logger, random: Math.random, later });
  try {
    await lane.drain(rows.deviceId);
    expect(hasCancelled).toBe(true);
    const sent = server.requests.filter(({ head }) => head.startsWith('POST'));
    expect(sent.map(({ head }) => /idempotency-key: (.*)/i.exec(head)?.[1])).toEqual([behind]);
    expect(await rows.receipt(cancelled)).toMatchObject({ status: 'cancelled', receipt_seq: null });
    expect(await rows.receipt(behind)).toMatchObject({ status: 'registered', receipt_seq: '41' });
    // A caller that waits for it at a gateway is notified by the relay at the latest.
    expect(notified).toContain(cancelled);
    await lane.drain(rows.deviceId);
    expect(server.requests.filter(({ head }) => head.startsWith('POST'))).toHaveLength(1);
  } finally {
    registers.close();
    await server.close();
  }
});
