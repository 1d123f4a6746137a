// Promise: a receipt is cancelled or sent, never both and never neither, however close the two come to each other.
import { LaneRows } from '../../apps/device-relay/src/lanes/testing/lane-rows.js';
import { CancelReceipt } from '../../apps/gateway/src/receipts/cancel-receipt.js';
import { ReceiptRepository } from '../../apps/gateway/src/receipts/receipt.repository.js';
import { KnownServer, PrismaService } from '#database';
import { createLogger } from '#runtime';

const ROUNDS = 1_000;
const MERCHANT = 'mer_1';

let rows: LaneRows;
let prisma: PrismaService;

beforeAll(async () => {
  rows = await LaneRows.start();
  prisma = new PrismaService({ url: rows.database.url, poolSize: 4, applicationName: 'test', lockTimeoutMs: 2_000 });
});

afterAll(async () => {
  await prisma?.$disconnect();
  await rows?.stop();
});

/** As the register's refusal to listen leaves it: the attempt is over, and its receipt is out of the race. */
async function clearLane(): Promise<void> {
  await rows.sql.query(`UPDATE attempts SET state = 'rejected' WHERE state = 'open'`);
  await rows.sql.query(`UPDATE receipts SET status = 'rejected' WHERE status IN ('accepted', 'sending')`);
}

test(`the client's cancel against the relay's intent, ${ROUNDS} times`, async () => {
  const address = { databaseUrl: rows.database.url, applicationName: 'test' };
  const known = new KnownServer(prisma, address, createLogger('test', 'silent'));
  const cancelling = new CancelReceipt(prisma, new ReceiptRepository(prisma), known);
  const outcomes = { cancelled: 0, sent: 0 };
  for (let round = 0; round < ROUNDS; round += 1) {
    const id = await rows.createReceipt();
    const intent = rows.intent(id);
    // Either side goes first in turn, and now and then one of them is a little late.
    const late = round % 5 === 0 ? new Promise<void>((resolve) => setTimeout(resolve, 0)) : Promise.resolve();
    const cancel = (): Promise<boolean> => cancelling.cancel(MERCHANT, id);
    const send = (): Promise<string> => rows.ours.openAttempt(intent);
    const [isCancelled, opened] =
      round % 2 === 0
        ? await Promise.all([cancel(), late.then(send)])
        : await Promise.all([late.then(cancel), send()]).then(([a, b]) => [a, b] as const);
    expect([isCancelled, opened]).toEqual(isCancelled ? [true, 'withdrawn'] : [false, 'opened']);
    const { rows: stored } = await rows.sql.query<{ status: string; attempts: number; events: number }>(
      `SELECT status, (SELECT count(*)::int FROM attempts a WHERE a.receipt_id = r.id) AS attempts,
              (SELECT count(*)::int FROM events e WHERE e.subject_id = r.id AND e.type = 'receipt.cancelled') AS events
         FROM receipts r WHERE id = $1`,
      [id],
    );
    expect(stored).toEqual([
      isCancelled ? { status: 'cancelled', attempts: 0, events: 1 } : { status: 'sending', attempts: 1, events: 0 },
    ]);
    outcomes[isCancelled ? 'cancelled' : 'sent'] += 1;
    await clearLane();
  }
  // A race that always ends the same way was none.
  expect(Math.min(outcomes.cancelled, outcomes.sent)).toBeGreaterThan(ROUNDS / 50);
});
