// Promise: a hot statement gives what the same statement gives through Prisma's client: every value that goes in and every column that comes out.
import fc from 'fast-check';
import pg from 'pg';
import { Prisma } from './generated/client.js';
import { PrismaService } from './prisma.service.js';
import { isUniqueViolation } from './sql-errors.js';
import { createTestDatabase, type TestDatabase } from './testing/index.js';

let database: TestDatabase;
let prisma: PrismaService;

beforeAll(async () => {
  database = await createTestDatabase();
  prisma = new PrismaService({ url: database.url, poolSize: 3, applicationName: 'test', lockTimeoutMs: 5_000 });
});
afterAll(async () => {
  await prisma?.$disconnect();
  await database?.drop();
});

/** PostgreSQL keeps every character but the zero. */
const text = fc.string({ unit: 'binary', maxLength: 30 }).map((each) => each.replaceAll('\u0000', ''));
const orNull = <T>(some: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(some, { nil: null, freq: 4 });
const VALUES = fc.record({
  text: orNull(text),
  int4: orNull(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })),
  int8: orNull(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
  bool: orNull(fc.boolean()),
  json: orNull(fc.jsonValue({ maxDepth: 3 })),
  time: orNull(fc.date({ min: new Date('1990-01-01'), max: new Date('2090-01-01'), noInvalidDate: true })),
  bytes: orNull(fc.uint8Array({ maxLength: 40 })),
  texts: orNull(fc.array(text, { maxLength: 4 })),
  status: orNull(fc.constantFrom('accepted', 'sending', 'registered')),
});
type Values = typeof VALUES extends fc.Arbitrary<infer Of> ? Of : never;

/** With the casts that our statements have. */
function echo({ text, int4, int8, bool, json, time, bytes, texts, status }: Values): Prisma.Sql {
  return Prisma.sql`
    SELECT ${text}::text AS text, ${int4}::int4 AS int4, ${int8}::int8 AS int8, ${bool}::boolean AS bool,
           ${json === null ? null : JSON.stringify(json)}::jsonb AS json, ${time}::timestamptz AS time,
           ${bytes === null ? null : Buffer.from(bytes)}::bytea AS bytes, ${texts}::text[] AS texts,
           ${status}::receipt_status AS status`;
}

const shown = (rows: Record<string, unknown>[]): unknown[] =>
  rows.map(({ bytes, ...row }) => ({ ...row, bytes: bytes === null ? null : [...(bytes as Uint8Array)] }));

test('any values, once and again on prepared statements, and planned for themselves', async () => {
  await fc.assert(
    fc.asyncProperty(VALUES, async (values) => {
      const byPrisma = shown(await prisma.$queryRaw<Record<string, unknown>[]>(echo(values)));
      expect(shown(await prisma.queryHot(echo(values)))).toEqual(byPrisma);
      expect(shown(await prisma.queryPlanned(echo(values)))).toEqual(byPrisma);
      // And that is what went in.
      expect(byPrisma).toMatchObject([{ text: values.text, int4: values.int4, int8: values.int8, bool: values.bool }]);
    }),
    { numRuns: 300 },
  );
});

test('no row, many rows, and a refusal that is known for what it is', async () => {
  for (const count of [0, 1, 250]) {
    const many = Prisma.sql`SELECT n, n::text AS word FROM generate_series(1, ${count}::int4) AS n`;
    expect(await prisma.queryHot(many)).toEqual(await prisma.$queryRaw(many));
  }
  const id = 'mer_twin';
  const insert = Prisma.sql`INSERT INTO merchants (id, code, name, tin) VALUES (${id}, ${id}, 'M', '300000000') RETURNING id`;
  expect(await prisma.queryHot(insert)).toEqual([{ id }]);
  for (const again of [() => prisma.queryHot(insert), () => prisma.$queryRaw(insert)])
    expect(isUniqueViolation(await again().catch((error: unknown) => error))).toBe(true);
});

describe('the session of a statement that is refused', () => {
  let one: PrismaService;
  beforeEach(() => {
    one = new PrismaService({ url: database.url, poolSize: 1, applicationName: 'test', lockTimeoutMs: 5_000 });
  });
  afterEach(() => one.$disconnect());

  const session = async (): Promise<number | undefined> =>
    (await one.queryHot<{ pid: number }>(Prisma.sql`SELECT pg_backend_pid() AS pid`))[0]?.pid;

  test('is kept where that was for its rows', async () => {
    const first = await session();
    await expect(one.queryHot(Prisma.sql`SELECT 1 / ${0}::int4`)).rejects.toMatchObject({ code: '22012' });
    expect(await session()).toBe(first);
  });

  test.each<[string, Prisma.Sql, string]>([
    [
      'the server has become a standby',
      Prisma.sql`SELECT set_config('default_transaction_read_only', 'on', false)`,
      '25006',
    ],
    ['the server ends it', Prisma.sql`SELECT pg_terminate_backend(pg_backend_pid())`, '57P01'],
  ])('is closed where it may be the cause: %s', async (_why, before, code) => {
    const first = await session();
    const refused = async (): Promise<unknown> => {
      await one.queryHot(before);
      return one.queryHot(Prisma.sql`UPDATE merchants SET name = name`);
    };
    await expect(refused()).rejects.toMatchObject({ code });
    expect(await session()).not.toBe(first);
  });

  test('is closed where its plan does not fit any more', async () => {
    const owner = new pg.Client({ connectionString: database.ownerUrl });
    await owner.connect();
    const read = Prisma.sql`SELECT * FROM merchants LIMIT 0`;
    await one.queryHot(read);
    await owner.query('ALTER TABLE merchants ADD COLUMN added_beside int');
    await owner.end();
    await expect(one.queryHot(read)).rejects.toMatchObject({ code: '0A000' });
    expect(await one.queryHot(read)).toEqual([]);
  });
});
