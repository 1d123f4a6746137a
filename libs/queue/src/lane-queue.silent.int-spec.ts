/** Promise at stake: after the line to PostgreSQL fell silent, wake-ups come at once again, and not with the queue's next poll. */
import { setTimeout as delay } from 'node:timers/promises';
import { createTestDatabase } from '#database/testing';
import { until, untilTrue } from '../../runtime/src/testing/until.js';
import { lineTo } from '../../../test/system/tcp-proxy.js';
import { LaneBell } from './lane-bell.js';
import { laneQueueBackend } from './lane-queue-backend.js';
import { LaneListener } from './lane-listener.js';
import { QueueCounters } from './queue-trouble.js';

const quiet = { info: () => undefined, error: () => undefined };
const ROUNDS = 5;
/** In which the queue's worker is at rest again, and waits for a notice. */
const REST_MS = 1_500;
/** The queue polls every five seconds. */
const AT_ONCE_MS = 1_000;

test('the worker that listens is as quick as before', async () => {
  const database = await createTestDatabase();
  const { line, url } = await lineTo(database.url);
  const queueAt = (databaseUrl: string) => laneQueueBackend({ queueUrl: null, databaseUrl });
  const bell = new LaneBell(queueAt(database.url), new QueueCounters(), quiet);
  const listener = new LaneListener(queueAt(url.href), new QueueCounters(), quiet);
  const wokenMs = new Map<string, number>();
  listener.start(
    (deviceId) => {
      wokenMs.set(deviceId, performance.now());
      return Promise.resolve();
    },
    { concurrency: 5 },
  );
  let rung = 0;
  const wakesAfterMs = async (): Promise<number> => {
    await delay(REST_MS);
    const deviceId = `dev_${String((rung += 1)).padStart(26, '0')}`;
    const rungMs = performance.now();
    bell.ring(deviceId);
    await untilTrue(() => wokenMs.has(deviceId), 'it is woken');
    return (wokenMs.get(deviceId) ?? 0) - rungMs;
  };
  const middle = async (): Promise<number> => {
    const rounds: number[] = [];
    while (rounds.length < ROUNDS) rounds.push(await wakesAfterMs());
    return rounds.sort((one, other) => one - other)[Math.floor(ROUNDS / 2)] ?? Infinity;
  };
  const isQuick = (afterMs: number): boolean => afterMs < AT_ONCE_MS;
  try {
    await until('wake-ups come at once', middle, isQuick);
    line.deafen();
    await until('they do again', middle, isQuick);
  } finally {
    await Promise.all([bell.close(), listener.close()]);
    await line.close();
    await database.drop();
  }
});
