// Promise: however many reads one merchant has open, another one's are answered, and its own are four at a time.
import 'reflect-metadata';
import pg from 'pg';
import { OperatorFixture } from '../../operator/testing/operator-fixture.js';
import { until } from '../../../../../libs/runtime/src/testing/until.js';

const [AT_WORK, KEPT_WAITING] = [4, 256];
let gateway: OperatorFixture;
let flooder: string;
let other: string;
/** Holds the table that the flooder reads. */
let holder: pg.Client;
/** Counts who waits for it. Not the holder: within a transaction, PostgreSQL shows the sessions that there were at its first query of them. */
let watcher: pg.Client;

beforeAll(async () => {
  gateway = await OperatorFixture.start({ API_POOL_SIZE: 8 });
  const scopes = ['receipts:read', 'webhooks:admin'];
  flooder = await gateway.createToken(await gateway.createMerchant(), scopes);
  other = await gateway.createToken(await gateway.createMerchant(), scopes);
  holder = new pg.Client({ connectionString: gateway.database.adminUrl });
  watcher = new pg.Client({ connectionString: gateway.database.adminUrl });
  await Promise.all([holder.connect(), watcher.connect()]);
});
afterAll(async () => {
  await holder?.end();
  await watcher?.end();
  await gateway?.stop();
});

async function status(token: string, path: string, signal?: AbortSignal): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${gateway.base}${path}`, { headers, ...(signal && { signal }) });
  await response.arrayBuffer();
  return response.status;
}

async function readOnce(answers: number[]): Promise<void> {
  answers.push(await status(flooder, '/v1/receipts'));
}

/** Pages only: the gateway's own loops may wait for it as well. */
async function waitingForTheTable(): Promise<number> {
  const { rows } = await watcher.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = 'relation' AND query ~ '^\\s*WITH page AS'`,
  );
  return rows[0]?.n ?? 0;
}

test('one merchant floods with reads that hang: four are at work, the other merchant is answered, the rest follows in turn', async () => {
  await holder.query('BEGIN; LOCK TABLE receipts IN ACCESS EXCLUSIVE MODE');
  const gone = new AbortController();
  const abandoned = Array.from({ length: 20 }, () => status(flooder, '/v1/receipts', gone.signal).catch(() => 0));
  await until('its share is at work', waitingForTheTable, (count) => count === AT_WORK);
  const answers: number[] = [];
  const flood = Array.from({ length: AT_WORK + KEPT_WAITING }, () => readOnce(answers));
  expect(await status(other, '/v1/webhooks')).toBe(200);
  // Hanging up is no way to more than the share.
  gone.abort();
  await Promise.all(abandoned);
  expect(await status(other, '/v1/webhooks')).toBe(200);
  for (let round = 0; round < 20; round += 1) expect(await waitingForTheTable()).toBeLessThanOrEqual(AT_WORK);
  // What waits for the table longer than a statement may is 503 and frees a turn, which is not of turns; until all have arrived on a
  // busy machine, that can make room for as many as there are turns. So reads go on to come until the queue has refused some.
  await until(
    'the queue is full, and no longer than it may be',
    () => {
      const refused = answers.filter((answer) => answer === 429).length;
      if (refused < AT_WORK) flood.push(...Array.from({ length: AT_WORK }, () => readOnce(answers)));
      return { refused, open: flood.length - answers.length };
    },
    ({ refused, open }) => refused >= AT_WORK && open <= AT_WORK + KEPT_WAITING,
  );
  await holder.query('ROLLBACK');
  await Promise.all(flood);
  expect([200, 429, 503]).toEqual(expect.arrayContaining([...new Set(answers)]));
  expect(answers).toContain(200);
  expect(await status(flooder, '/v1/receipts')).toBe(200);
});
