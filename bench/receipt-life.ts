import type pg from 'pg';
import type { PrismaService } from '#database';
import { LaneWrites, type CloseRegistered, type Intent } from '#ledger';
import { newId } from '#runtime';
import { sampleDocument } from '../libs/database/src/testing/index.js';

const TERMINAL = 'UZ000000000001';
/** The session's own: no other relay is there. */
const NO_LOCK = { lockNumber: 0, backendPid: 0, isHeld: () => true, release: () => Promise.resolve() };

/** The registers of a bench, by number. */
export const deviceOf = (number: number): string => `dev_bench_${number}`;

/** A merchant with so many registers, none of which is there. */
export async function createLanes(owner: pg.Client, registers: number): Promise<void> {
  await owner.query(`
    INSERT INTO merchants (id, code, name, tin) VALUES ('mer_bench', 'bench', 'Bench', '300000000');
    INSERT INTO branches (id, merchant_id, code, name) VALUES ('brn_bench', 'mer_bench', 'main', 'Main');
    INSERT INTO devices (id, merchant_id, branch_id, name, base_url, api_key_sealed)
    SELECT 'dev_bench_' || n, 'mer_bench', 'brn_bench', 'Till', 'http://127.0.0.1:1', '\\x00' FROM generate_series(1, ${registers}) AS n;
    INSERT INTO lanes (device_id) SELECT id FROM devices`);
}

/** A receipt that is being sent. */
export interface Sending {
  device: number;
  receiptId: string;
  attemptId: string;
}

/** The life of receipts with the relay's own statements: accepted, intent, registered. */
export class ReceiptLife {
  private sequence = 0;
  private readonly writes: LaneWrites;

  private constructor(
    private readonly prisma: PrismaService,
    private readonly serverStartedAt: string,
  ) {
    this.writes = new LaneWrites(prisma, 'rly_bench');
  }

  static async on(owner: pg.Client, prisma: PrismaService): Promise<ReceiptLife> {
    const { rows } = await owner.query<{ at: string }>('SELECT pg_postmaster_start_time()::text AS at');
    return new ReceiptLife(prisma, rows[0]?.at ?? '');
  }

  /** @returns its id */
  async accept(device = 1): Promise<string> {
    const receiptId = newId('rcp');
    await this.prisma.$executeRaw`
      INSERT INTO receipts (id, merchant_id, client_id, operation, body_hash, type, status, lane_place, device_id, branch_id,
                            document, total_tiyin, vat_total_tiyin)
      VALUES (${receiptId}, 'mer_bench', 'cli_bench', 'receipts', ${Buffer.alloc(32)}, 'sale', 'accepted',
              nextval('lane_place_seq'), ${deviceOf(device)}, 'brn_bench', ${JSON.stringify(sampleDocument())}::jsonb, 112000, 12000)`;
    return receiptId;
  }

  async open(receiptId: string, device = 1): Promise<Sending> {
    const intent = this.intentOf(receiptId, device);
    const opened = await this.writes.openAttempt(intent);
    if (opened !== 'opened') throw new Error(`the intent was ${opened}`);
    return { device, receiptId, attemptId: intent.attemptId };
  }

  async close(sending: Sending): Promise<void> {
    const closed = await this.writes.closeRegistered(this.resultOf(sending));
    if (closed !== 'closed') throw new Error(`the attempt was ${closed}`);
  }

  /** The result of one and the intent of the next. */
  async closeAndOpen(sending: Sending, nextId: string): Promise<Sending> {
    const { device } = sending;
    const intent = this.intentOf(nextId, device);
    const { closed, opened } = await this.writes.closeAndOpen(this.resultOf(sending), intent);
    if (closed !== 'closed' || opened !== 'opened') throw new Error(`it was ${closed}, the next one ${opened}`);
    return { device, receiptId: nextId, attemptId: intent.attemptId };
  }

  private intentOf(receiptId: string, device: number): Intent {
    return {
      ...{ attemptId: newId('att'), receiptId, deviceId: deviceOf(device) },
      baseline: { terminalId: TERMINAL, journalId: 'jrn', sequence: this.sequence, reading: null },
      request: Buffer.from(JSON.stringify(sampleDocument())),
      laneLock: { ...NO_LOCK, serverStartedAt: this.serverStartedAt },
    };
  }

  private resultOf({ device, receiptId, attemptId }: Sending): CloseRegistered {
    this.sequence += 1;
    return {
      ...{ attemptId, receiptId, deviceId: deviceOf(device), evidence: 'answer', lastKnown: null },
      registration: {
        ...{ terminalId: TERMINAL, receiptSeq: this.sequence, fiscalSign: '123456789012', ofdSent: true },
        ...{ verificationUrl: 'https://ofd.soliq.uz/check?t=UZ000000000001', transactionTimeMs: Date.now() },
        ...{ ofdError: null, recordedFields: [], shiftNumber: null },
      },
      baseline: { terminalId: TERMINAL, journalId: 'jrn', sequence: this.sequence, reading: null },
    };
  }
}
