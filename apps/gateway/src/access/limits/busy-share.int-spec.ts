// Promise: a call that waits in vain for its own share's connections is answered so, not that the database is away; that nothing was done is said only where it is true.
import { Prisma, PrismaService, withinShare } from '#database';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import { statusOf } from '#http';
import { problemOf } from '#problems';

const MERCHANT = 'mer_1';
let database: TestDatabase;
let pool: PrismaService;

beforeAll(async () => {
  database = await createTestDatabase();
  const settings = { url: database.url, applicationName: 'shared', lockTimeoutMs: 400, connectTimeoutMs: 2_500 };
  pool = new PrismaService({ ...settings, poolSize: 4, isShared: true });
});
afterAll(async () => {
  await pool?.$disconnect();
  await database?.drop();
});

/** Both connections of the merchant's share are in use until the work has failed. */
async function refusalWhileHeld(work: () => Promise<unknown>): Promise<unknown> {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const hold = (): Promise<unknown> =>
    new Promise((held) => {
      void withinShare(MERCHANT, () =>
        pool.$transaction(
          async () => {
            held(null);
            await released;
          },
          { timeout: 60_000 },
        ),
      );
    });
  await Promise.all([hold(), hold()]);
  try {
    return await work().then(
      () => 'done',
      (error: unknown) => error,
    );
  } finally {
    release();
  }
}

const read = (): Promise<unknown> => pool.queryHot(Prisma.sql`SELECT 1`);
const change = (): Promise<unknown> => pool.$transaction((tx) => tx.$queryRaw`SELECT 1`);

test.each([
  ['reads, by a statement', true, read, '429 too_many_requests'],
  ['reads, by a transaction', true, change, '429 too_many_requests'],
  ['may have written, by a statement', false, read, '503 service_unavailable'],
  ['may have written, by a transaction', false, change, '503 service_unavailable'],
])('a call that had begun and %s', async (_what, isRead, next, answer) => {
  let begun = (): void => undefined;
  const hasBegun = new Promise<void>((resolve) => {
    begun = resolve;
  });
  let proceed = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    proceed = resolve;
  });
  const call = withinShare(
    MERCHANT,
    async () => {
      await read();
      begun();
      await held;
      await next();
    },
    { isRead },
  );
  await hasBegun;
  const refused = await refusalWhileHeld(() => {
    proceed();
    return call;
  });
  const problem = problemOf(refused);
  expect(`${statusOf(problem)} ${problem.code}`).toBe(answer);
  expect(problem.detail?.includes('nothing was done')).toBe(isRead);
});
