import pg from 'pg';
import { PrismaService } from '#database';
import { createTestDatabase } from '../libs/database/src/testing/index.js';
import { secondsOf } from './processor-time.js';
import { createLanes, ReceiptLife } from './receipt-life.js';
import type { Figure } from './report.js';
import { alternate, median, percentile } from './statistics.js';

const TRIGGERS = [
  ['receipts', 'receipts_change_legally'],
  ['attempts', 'attempts_move_legally'],
] as const;

/**
 * What the triggers that keep fiscal fields and refuse illegal moves cost PostgreSQL: the life of a receipt (accepted, intent, registered) with the
 * relay's own statements, with and without them in turn.
 */
export async function benchRights({ rounds, receipts }: { rounds: number; receipts: number }): Promise<Figure[]> {
  const database = await createTestDatabase();
  const owner = new pg.Client({ connectionString: database.ownerUrl });
  await owner.connect();
  const prisma = new PrismaService({ url: database.url, poolSize: 1, applicationName: 'bench', lockTimeoutMs: 5_000 });
  try {
    await createLanes(owner, 1);
    const at = { life: await ReceiptLife.on(owner, prisma), prisma, owner };
    const measured = (triggers: 'ENABLE' | 'DISABLE'): (() => Promise<number>) => {
      return () => costOf(at, receipts, triggers);
    };
    await costOf(at, receipts, 'ENABLE');
    const { a: without, b: withTriggers } = await alternate(rounds, measured('DISABLE'), measured('ENABLE'));
    const ratios = withTriggers.map((cost, round) => cost / (without[round] ?? Number.NaN));
    return [
      {
        name: 'rights: PostgreSQL per receipt without triggers',
        value: median(without) * 1e6,
        unit: 'µs of processor time',
      },
      {
        name: 'rights: PostgreSQL per receipt with them',
        value: median(withTriggers) * 1e6,
        unit: 'µs of processor time',
      },
      {
        name: 'rights: with triggers to without',
        ...{
          value: median(ratios),
          spread: [percentile(ratios, 25), percentile(ratios, 75)],
          unit: '×',
          target: '≤ 1.03',
        },
      },
    ];
  } finally {
    await prisma.$disconnect();
    await owner.end();
    await database.drop();
  }
}

/** @returns seconds of the session's processor time for each receipt */
async function costOf(
  { life, prisma, owner }: { life: ReceiptLife; prisma: PrismaService; owner: pg.Client },
  receipts: number,
  triggers: 'ENABLE' | 'DISABLE',
): Promise<number> {
  for (const [table, name] of TRIGGERS) await owner.query(`ALTER TABLE ${table} ${triggers} TRIGGER ${name}`);
  const [session] = await prisma.$queryRaw<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
  const before = secondsOf(session?.pid ?? null);
  for (let done = 0; done < receipts; done += 1) await life.close(await life.open(await life.accept()));
  return (secondsOf(session?.pid ?? null) - before) / receipts;
}
