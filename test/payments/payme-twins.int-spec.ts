// Promise: Payme is answered the same, and the same is stored, whether its calls are written in groups or one by one under locks.
import fc from 'fast-check';
import type { PrismaService } from '#database';
import { until } from '../../libs/runtime/src/testing/until.js';
import { anId, askPayme, verdictOf } from './provider-callers.js';
import { paymentsFixture, PRICE } from './payments-fixture.js';

const fixture = paymentsFixture();

const TRANSACTION = fc.nat(1);
const STEP = fc.oneof(
  fc.record({ method: fc.constant('CheckPerformTransaction' as const), amount: fc.constantFrom(PRICE, PRICE + 1) }),
  {
    weight: 3,
    arbitrary: fc.record({
      ...{ method: fc.constant('CreateTransaction' as const), of: TRANSACTION },
      amount: fc.constantFrom(PRICE, PRICE, PRICE, PRICE + 1),
    }),
  },
  { weight: 3, arbitrary: fc.record({ method: fc.constant('PerformTransaction' as const), of: TRANSACTION }) },
  fc.record({ method: fc.constant('CancelTransaction' as const), of: TRANSACTION }),
  fc.record({ method: fc.constant('CheckTransaction' as const), of: TRANSACTION }),
);
type Step = typeof STEP extends fc.Arbitrary<infer Of> ? Of : never;

interface Order {
  account: { order_id: string };
  /** Payme's transactions for it. */
  transactions: [string, string];
  time: number;
}

async function newOrder(): Promise<Order> {
  const { body } = await fixture.pay({ provider: 'payme' });
  return { account: { order_id: body.id }, transactions: [anId(), anId()], time: Date.now() };
}

const ask = async ({ account, transactions, time }: Order, step: Step): Promise<unknown> => {
  const id = 'of' in step ? transactions[step.of] : undefined;
  const params = {
    CheckPerformTransaction: { account, amount: 'amount' in step && step.amount },
    CreateTransaction: { id, time, account, amount: 'amount' in step && step.amount },
    PerformTransaction: { id },
    CancelTransaction: { id, reason: 5 },
    CheckTransaction: { id },
  }[step.method];
  return verdictOf(await askPayme(fixture, step.method, params));
};

let waits = 0;

/** A group takes no row that is locked: what would change something waits until it may decide alone. */
async function askLocked(order: Order, step: Step): Promise<unknown> {
  const { prisma } = fixture.gateway;
  const { answering } = await prisma.$transaction(
    async (tx) => {
      await tx.$executeRaw`SELECT id FROM payments WHERE id = ${order.account.order_id} FOR UPDATE`;
      let isAnswered = false;
      const asking = ask(order, step).finally(() => (isAnswered = true));
      // It is awaited below; until then a failure would be one that nothing handles.
      asking.catch(() => undefined);
      await until('it waits, or needs no lock', async () => isAnswered || (await isWaitedFor(tx)), Boolean);
      if (!isAnswered) waits += 1;
      return { answering: asking };
    },
    { timeout: 120_000, maxWait: 60_000 },
  );
  return answering;
}

/** Whether another session waits for this transaction. */
async function isWaitedFor(tx: Pick<PrismaService, '$queryRaw'>): Promise<boolean> {
  const [row] = await tx.$queryRaw<{ waits: boolean }[]>`
    SELECT EXISTS (SELECT FROM pg_locks l WHERE NOT l.granted AND pg_backend_pid() = ANY(pg_blocking_pids(l.pid))) AS waits`;
  return row?.waits === true;
}

async function storedOf({ transactions }: Order): Promise<unknown[]> {
  const rows = await fixture.gateway.prisma.$queryRaw<{ id: string; operations: string[] }[]>`
    SELECT t.id, t.state, t.is_live, t.reason, t.amount_tiyin::int8,
           ARRAY(SELECT c.operation FROM provider_callbacks c WHERE c.provider_ref = t.id ORDER BY c.id) AS operations
      FROM provider_transactions t WHERE t.id = ANY(${transactions})`;
  return transactions.map((id) => rows.filter((row) => row.id === id).map((row) => ({ ...row, id: null })));
}

test('any calls for one order, in any order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { minLength: 3, maxLength: 7 }), async (steps) => {
      const [grouped, locked] = [await newOrder(), await newOrder()];
      for (const [index, step] of steps.entries()) {
        const expected = await ask(grouped, step);
        expect([index, step, await askLocked(locked, step)]).toEqual([index, step, expected]);
      }
      expect(await storedOf(locked)).toEqual(await storedOf(grouped));
    }),
    { numRuns: 12 },
  );
  // Else it was the same way twice.
  expect(waits).toBeGreaterThan(5);
}, 900_000);
