// Promise: what loops ask at the same moment is one statement, each gets its own answer, and what goes wrong with one leaves the others theirs.
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '#database/testing';
import { withinMerchant } from './merchant-scope.js';
import { Prisma } from './generated/client.js';
import { PrismaService } from './prisma.service.js';

let database: TestDatabase;
let prisma: PrismaService;
let statements: Prisma.Sql[];

beforeAll(async () => {
  database = await createTestDatabase();
});
beforeEach(() => {
  prisma = new PrismaService({ url: database.url, poolSize: 4, applicationName: 'test', lockTimeoutMs: 1_000 });
  statements = [];
  const asked = prisma.queryHot.bind(prisma);
  prisma.queryHot = (statement) => {
    statements.push(statement);
    return asked(statement);
  };
});
afterEach(() => prisma.$disconnect());
afterAll(() => database?.drop());

const number = (value: number): Prisma.Sql => Prisma.sql`SELECT ${value}::int4`;
const ANY_MERCHANT = Prisma.sql`SELECT EXISTS (SELECT FROM merchants)`;
const BIG = Prisma.sql`SELECT 9007199254740993::int8`;

test('questions of one moment are one statement, with the value and the type of each', async () => {
  const answers = await Promise.all([
    prisma.ask(number(1)),
    prisma.ask(ANY_MERCHANT),
    prisma.ask(BIG),
    prisma.ask(number(2)),
  ]);
  expect(answers).toEqual([1, false, 9007199254740993n, 2]);
});

test('timers that ring within some milliseconds ask together', async () => {
  const ask = async (afterMs: number): Promise<unknown> => {
    await delay(afterMs);
    return prisma.ask(afterMs === 10 ? ANY_MERCHANT : BIG);
  };
  await Promise.all([prisma.ask(ANY_MERCHANT), prisma.ask(BIG)]);
  statements = [];
  await Promise.all([ask(10), ask(11)]);
  expect(statements).toHaveLength(1);
});

test('whatever is asked, the statement is the same one, and only what is asked is worked out', async () => {
  const counted = Prisma.sql`SELECT nextval('lane_place_seq')`;
  const [first] = await Promise.all([prisma.ask<bigint>(counted), prisma.ask(ANY_MERCHANT)]);
  for (let round = 0; round < 5; round += 1) expect(await prisma.ask(ANY_MERCHANT)).toBe(false);
  expect(await prisma.ask(counted)).toBe((first ?? 0n) + 1n);
  expect(new Set(statements.map(({ text }) => text)).size).toBe(1);
  expect(statements).toHaveLength(7);
});

test('one that the server refuses is refused alone', async () => {
  const answers = await Promise.allSettled([
    prisma.ask(ANY_MERCHANT),
    prisma.ask(Prisma.sql`SELECT 1 / (SELECT count(*)::int4 FROM merchants)`),
    prisma.ask(BIG),
  ]);
  expect(answers).toMatchObject([
    { status: 'fulfilled', value: false },
    { status: 'rejected', reason: { code: '22012' } },
    { status: 'fulfilled', value: 9007199254740993n },
  ]);
});

describe('what its mere text is refused for leaves the others their answers, each time', () => {
  const UNKNOWN = Prisma.sql`SELECT no_such_column FROM merchants`;
  const FOREIGN = Prisma.sql`SELECT count(*)::int4 FROM pg_authid`;
  const SHUT = Prisma.sql`SELECT count(*)::int4 FROM branches`;
  let shutting: pg.Client;

  beforeEach(async () => {
    shutting = new pg.Client({ connectionString: database.ownerUrl });
    await shutting.connect();
    await shutting.query('BEGIN; LOCK TABLE branches IN ACCESS EXCLUSIVE MODE');
  });
  afterEach(() => shutting.end());

  test.each([
    ['an unknown column', UNKNOWN, '42703'],
    ['a right that is not there', FOREIGN, '42501'],
    ['a table that is shut', SHUT, '55P03'],
  ])('%s', async (_what, question, code) => {
    for (let round = 0; round < 3; round += 1)
      expect(await Promise.allSettled([prisma.ask(ANY_MERCHANT), prisma.ask(question), prisma.ask(BIG)])).toMatchObject(
        [
          { status: 'fulfilled', value: false },
          { status: 'rejected', reason: { code } },
          { status: 'fulfilled', value: 9007199254740993n },
        ],
      );
    // And while it is not asked, they are asked together again.
    statements = [];
    await Promise.all([prisma.ask(ANY_MERCHANT), prisma.ask(BIG)]);
    expect(statements).toHaveLength(1);
  });

  test('a table that is shut while its question is not asked', async () => {
    await shutting.query('COMMIT');
    await Promise.all([prisma.ask(ANY_MERCHANT), prisma.ask(SHUT)]);
    await shutting.query('BEGIN; LOCK TABLE branches IN ACCESS EXCLUSIVE MODE');
    expect(await prisma.ask(ANY_MERCHANT)).toBe(false);
  });

  test('however often it is refused, there are few texts of statements', async () => {
    for (let round = 0; round < 20; round += 1) {
      await Promise.allSettled([prisma.ask(ANY_MERCHANT), prisma.ask(UNKNOWN), prisma.ask(BIG)]);
      await Promise.all([prisma.ask(ANY_MERCHANT), prisma.ask(BIG)]);
    }
    expect(new Set(statements.map(({ text }) => text)).size).toBeLessThanOrEqual(6);
  });
});

test('the plan is kept, also where now these and now those are asked', async () => {
  const lone = new PrismaService({ url: database.url, poolSize: 1, applicationName: 'test', lockTimeoutMs: 1_000 });
  const devices = Prisma.sql`SELECT EXISTS (SELECT FROM devices WHERE poll_due_at <= now())`;
  const events = Prisma.sql`SELECT max(position) FROM events`;
  for (let round = 0; round < 12; round += 1)
    await Promise.all([lone.ask(ANY_MERCHANT), lone.ask(events), ...(round % 2 === 0 ? [lone.ask(devices)] : [])]);
  const plans = await lone.$queryRaw<{ generic_plans: bigint }[]>`
    SELECT generic_plans FROM pg_prepared_statements WHERE statement LIKE 'SELECT CASE%poll_due_at%'`;
  expect(plans.map(({ generic_plans: count }) => count > 0n)).toEqual([true]);
  await lone.$disconnect();
});

test('a request does not ask so', async () => {
  await expect(withinMerchant('mer_1', () => prisma.ask(BIG))).rejects.toThrow('across merchants');
});

test('without the database all are refused, after one statement', async () => {
  const away = new PrismaService({
    ...{ url: 'postgresql://a:b@127.0.0.1:1/c', poolSize: 1, applicationName: 'test', lockTimeoutMs: 1_000 },
  });
  const answers = await Promise.allSettled([away.ask(ANY_MERCHANT), away.ask(BIG)]);
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await away.$disconnect();
});
