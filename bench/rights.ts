import pg from 'pg';
import { PrismaService } from '#database';
import { createTestDatabase, sampleDocument } from '../libs/database/src/testing/index.js';
import { newId } from '#runtime';
import { LaneWrites } from '#ledger';
import { secondsOf } from './processor-time.js';
import type { Figure } from './report.js';
import { alternate, median, percentile } from './statistics.js';

const TRIGGERS = [
  ['receipts', 'receipts_fiscal_fields_stay'],
  ['receipts', 'receipts_recorded_fields_stay'],
  ['receipts', 'receipts_move_legally'],
  ['attempts', 'attempts_move_legally'],
] as const;
const DEVICE = 'dev_bench';
const TERMINAL = 'UZ000000000001';
/** The session's own: no other relay is there. */
const NO_LOCK = { lockNumber: 0, backendPid: 0, isHeld: () => true, release: () => Promise.resolve() };

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
    await prepare(owner);
    const { rows } = await owner.query<{ at: string }>('SELECT pg_postmaster_start_time()::text AS at');
    const life = new ReceiptLife(prisma, owner, rows[0]?.at ?? '');
    const measured = (triggers: 'ENABLE' | 'DISABLE'): (() => Promise<number>) => {
      return () => life.cost(receipts, triggers);
    };
    await life.cost(receipts, 'ENABLE');
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

async function prepare(owner: pg.Client): Promise<void> {
  await owner.query(`
    INSERT INTO merchants (id, code, name, tin) VALUES ('mer_bench', 'bench', 'Bench', '300000000');
    INSERT INTO branches (id, merchant_id, code, name) VALUES ('brn_bench', 'mer_bench', 'main', 'Main');
    INSERT INTO devices (id, merchant_id, branch_id, name, base_url, api_key_sealed)
    VALUES ('${DEVICE}', 'mer_bench', 'brn_bench', 'Till', 'http://127.0.0.1:1', '\\x00');
    INSERT INTO lanes (device_id) VALUES ('${DEVICE}')`);
}

class ReceiptLife {
  private sequence = 0;
  private readonly writes: LaneWrites;

  constructor(
    private readonly prisma: PrismaService,
    private readonly owner: pg.Client,
    private readonly serverStartedAt: string,
  ) {
    this.writes = new LaneWrites(prisma, 'rly_bench');
  }

  /** @returns seconds of the session's processor time for each receipt */
  async cost(receipts: number, triggers: 'ENABLE' | 'DISABLE'): Promise<number> {
    for (const [table, name] of TRIGGERS) await this.owner.query(`ALTER TABLE ${table} ${triggers} TRIGGER ${name}`);
    const [session] = await this.prisma.$queryRaw<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
    const before = secondsOf(session?.pid ?? null);
    for (let done = 0; done < receipts; done += 1) await this.live();
    return (secondsOf(session?.pid ?? null) - before) / receipts;
  }

  private async live(): Promise<void> {
    const [receiptId, attemptId] = [newId('rcp'), newId('att')];
    this.sequence += 1;
    await this.prisma.$executeRaw`
      INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, lane_place, device_id, branch_id,
                            document, total_tiyin, vat_total_tiyin)
      VALUES (${receiptId}, 'mer_bench', 'cli_bench', 'receipts', ${Buffer.alloc(32)}, 'sale', 'accepted',
              nextval('lane_place_seq'), ${DEVICE}, 'brn_bench', ${JSON.stringify(sampleDocument())}::jsonb, 112000, 12000)`;
    const baseline = { terminalId: TERMINAL, journalId: 'jrn', sequence: this.sequence - 1, reading: null };
    const request = Buffer.from(JSON.stringify(sampleDocument()));
    const laneLock = { ...NO_LOCK, serverStartedAt: this.serverStartedAt };
    const opened = await this.writes.openAttempt({
      ...{ attemptId, receiptId, deviceId: DEVICE, baseline, request, laneLock },
    });
    if (opened !== 'opened') throw new Error(`the intent was ${opened}`);
    const registration = {
      ...{ terminalId: TERMINAL, receiptSeq: this.sequence, fiscalSign: '123456789012', ofdSent: true, ofdError: null },
      ...{ verificationUrl: 'https://ofd.soliq.uz/check?t=UZ000000000001', transactionTimeMs: Date.now() },
      ...{ recordedFields: [], shiftNumber: null },
    };
    const closed = await this.writes.closeRegistered({
      ...{ attemptId, deviceId: DEVICE, registration, evidence: 'answer', lastKnown: null },
      baseline: { ...baseline, sequence: this.sequence },
    });
    if (closed !== 'closed') throw new Error(`the attempt was ${closed}`);
  }
}
