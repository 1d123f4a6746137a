import { randomInt, randomUUID } from 'node:crypto';
import { Prisma, type PrismaService } from '#database';
import { sandboxOutcomeOf, type SandboxOutcome, type SaleResponse } from '#fiscal-domain';
import { readState, type EmulatedState } from './emulated-module.js';

type Tx = Prisma.TransactionClient;

/** A register with its row locked. */
export interface LockedRegister {
  terminalId: string;
  journalId: string;
  state: EmulatedState;
  isOffline: boolean;
  now: Date;
  merchant: { name: string; tin: string };
  branch: { id: string; address: string };
}

export interface KeptDocument {
  seq: bigint;
  request_hash: string;
  response: SaleResponse;
  is_unsent: boolean;
}

/** What is to come of a receipt, and how often it was done already. */
export interface Forced {
  outcome: SandboxOutcome;
  times: number;
  sinceMs: number;
}

interface RegisterRow {
  terminal_id: string;
  journal_id: string;
  state: unknown;
  is_offline: boolean;
  now: Date;
  name: string;
  tin: string;
  branch_id: string;
  address: string;
}

/** Documents that an emulated journal keeps. */
const KEPT_DOCUMENTS = 500;
/** How long it is known what was forced on a receipt. */
const FORCED_DAYS = 7;
const TRANSACTION = { timeout: 10_000 };

/** Rows of the emulated registers. They are in the database, so that any relay goes on where another stopped. */
export class EmulatedStore {
  constructor(private readonly prisma: PrismaService) {}

  /** One call at a time to each register. Null: there is no such device. */
  async locked<T>(deviceId: string, work: (tx: Tx, register: LockedRegister) => Promise<T>): Promise<T | null> {
    return this.prisma.$transaction(async (tx) => {
      const row = (await this.lock(tx, deviceId)) ?? (await this.make(tx, deviceId));
      if (!row) return null;
      return work(tx, {
        ...{ terminalId: row.terminal_id, journalId: row.journal_id, state: readState(row.state), now: row.now },
        isOffline: row.is_offline,
        merchant: { name: row.name, tin: row.tin },
        branch: { id: row.branch_id, address: row.address },
      });
    }, TRANSACTION);
  }

  /** False: no such register, or it is asked to be away. */
  async isThere(deviceId: string): Promise<boolean> {
    const [row] = await this.prisma.$queryRaw<{ is_offline: boolean }[]>`
      SELECT coalesce(offline_until > now(), false) AS is_offline FROM emulated_registers WHERE device_id = ${deviceId}`;
    return row?.is_offline !== true;
  }

  async goOffline(deviceId: string, seconds: number): Promise<void> {
    await this.prisma.$executeRaw`
      UPDATE emulated_registers SET offline_until = now() + make_interval(secs => ${seconds}::int4)
       WHERE device_id = ${deviceId}`;
  }

  /** Null: nothing is forced on this receipt. Its values are read from the ledger: the register's document has no metadata. */
  async forcedOn(deviceId: string, receiptId: string): Promise<Forced | null> {
    const [row] = await this.prisma.$queryRaw<
      { metadata: string | null; price: number | null; times: number | null; since_ms: number | null }[]
    >`
      SELECT r.document->'metadata'->>'sandbox' AS metadata,
             CASE WHEN r.type = 'sale' THEN (r.document->'lines'->0->>'priceTiyin')::float8 END AS price,
             f.times, extract(epoch FROM now() - f.since)::float8 * 1000 AS since_ms
        FROM receipts r JOIN devices d ON d.id = ${deviceId} AND d.merchant_id = r.merchant_id
             LEFT JOIN emulated_forced f ON f.device_id = d.id AND f.key = r.id
       WHERE r.id = ${receiptId}`;
    if (!row) return null;
    const outcome = sandboxOutcomeOf(row.metadata, row.price);
    return outcome && { outcome, times: row.times ?? 0, sinceMs: row.since_ms ?? 0 };
  }

  /** Once more for this receipt. */
  async noteForced(deviceId: string, key: string): Promise<void> {
    await this.prisma.$executeRaw`
      WITH gone AS (
        DELETE FROM emulated_forced
         WHERE device_id = ${deviceId} AND since < now() - make_interval(days => ${FORCED_DAYS}::int4) AND key <> ${key}
      )
      INSERT INTO emulated_forced (device_id, key, times) VALUES (${deviceId}, ${key}, 1)
      ON CONFLICT (device_id, key) DO UPDATE SET times = emulated_forced.times + 1`;
  }

  async saveState(tx: Tx, deviceId: string, state: EmulatedState): Promise<void> {
    await tx.$executeRaw`
      UPDATE emulated_registers SET state = ${JSON.stringify(state)}::jsonb WHERE device_id = ${deviceId}`;
  }

  async keep(
    tx: Tx,
    deviceId: string,
    document: {
      seq: number;
      key: string | null;
      requestHash: string;
      response: SaleResponse;
      unsentFor: number | null;
    },
  ): Promise<void> {
    const { seq, key, requestHash, response, unsentFor } = document;
    await tx.$executeRaw`
      INSERT INTO emulated_documents (device_id, seq, key, request_hash, response, ofd_due_at)
      VALUES (${deviceId}, ${seq}::bigint, ${key}, ${requestHash}, ${JSON.stringify(response)}::jsonb,
              now() + make_interval(secs => ${unsentFor}::int4))`;
    await tx.$executeRaw`
      DELETE FROM emulated_documents
       WHERE device_id = ${deviceId} AND seq <= ${seq}::bigint - ${KEPT_DOCUMENTS}::bigint AND ofd_due_at IS NULL`;
  }

  async find(tx: Tx, deviceId: string, by: { key: string } | { seq: number }): Promise<KeptDocument | null> {
    const which = 'key' in by ? Prisma.sql`key = ${by.key}` : Prisma.sql`seq = ${by.seq}::bigint`;
    const [row] = await tx.$queryRaw<KeptDocument[]>`
      SELECT seq, request_hash, response, ofd_due_at IS NOT NULL AS is_unsent FROM emulated_documents
       WHERE device_id = ${deviceId} AND ${which}`;
    return row ?? null;
  }

  async unsentCount(tx: Tx, deviceId: string): Promise<number> {
    const [row] = await tx.$queryRaw<{ count: number }[]>`
      SELECT count(*)::int4 AS count FROM emulated_documents WHERE device_id = ${deviceId} AND ofd_due_at IS NOT NULL`;
    return row?.count ?? 0;
  }

  /** What the OFD takes by now is sent. @returns how many, and which are left */
  async resend(tx: Tx, deviceId: string): Promise<{ sent: number; left: number[] }> {
    const sent = await tx.$executeRaw`
      UPDATE emulated_documents SET ofd_due_at = NULL WHERE device_id = ${deviceId} AND ofd_due_at <= now()`;
    const left = await tx.$queryRaw<{ seq: bigint }[]>`
      SELECT seq FROM emulated_documents WHERE device_id = ${deviceId} AND ofd_due_at IS NOT NULL ORDER BY seq`;
    return { sent, left: left.map(({ seq }) => Number(seq)) };
  }

  private async lock(tx: Tx, deviceId: string): Promise<RegisterRow | undefined> {
    const [row] = await tx.$queryRaw<RegisterRow[]>`
      SELECT e.terminal_id, e.journal_id, e.state, coalesce(e.offline_until > now(), false) AS is_offline, now() AS now,
             m.name, m.tin, b.id AS branch_id, b.address
        FROM emulated_registers e JOIN devices d ON d.id = e.device_id JOIN merchants m ON m.id = d.merchant_id
             JOIN branches b ON b.id = d.branch_id
       WHERE e.device_id = ${deviceId} AND m.mode = 'sandbox' FOR UPDATE OF e`;
    return row;
  }

  private async make(tx: Tx, deviceId: string): Promise<RegisterRow | undefined> {
    await tx.$executeRaw`
      INSERT INTO emulated_registers (device_id, terminal_id, journal_id)
      SELECT id, ${newTerminalId()}, ${randomUUID()} FROM devices WHERE id = ${deviceId} AND transport = 'emulated'
      ON CONFLICT (device_id) DO NOTHING`;
    return this.lock(tx, deviceId);
  }
}

/** A test module's: `ZZ` and twelve digits. Its receipts are test receipts wherever they are shown. */
function newTerminalId(): string {
  return `ZZ${String(randomInt(10 ** 6)).padStart(6, '0')}${String(randomInt(10 ** 6)).padStart(6, '0')}`;
}
