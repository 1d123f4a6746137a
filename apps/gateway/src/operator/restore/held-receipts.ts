import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database';

/** A held receipt as a person compares it, and as `restore resolve` takes it back with a decision. */
export interface HeldReceipt {
  attempt_id: string;
  /** For a person to fill in: registered or not_registered. */
  decision: null;
  receipt_id: string;
  merchant_id: string;
  type: string;
  total_tiyin: number;
  created_at: string;
  /** In whose lane it stands. */
  device_id: string;
  /** Whether it was being sent there when the copy was made. */
  was_sending: boolean;
  registers: {
    device_id: string;
    name: string;
    terminal_id: string | null;
    method: 'key' | 'counters';
    verdict: 'absent' | 'present' | 'unproven' | null;
    evidence: Record<string, unknown> | null;
  }[];
}

const PAGE = 500;

/** Receipts that a restore holds and that are not decided yet. */
@Injectable()
export class HeldReceipts {
  constructor(private readonly prisma: PrismaService) {}

  /** Oldest first; all merchants unless one is named. */
  async *list(merchantId: string | null): AsyncGenerator<HeldReceipt, void, undefined> {
    for (let after = ''; ;) {
      const page = await this.prisma.$queryRaw<(Omit<HeldReceipt, 'total_tiyin' | 'decision'> & { total: string })[]>`
        WITH page AS (
          SELECT DISTINCT c.attempt_id FROM restore_checks c JOIN receipts r ON r.id = c.receipt_id JOIN attempts a ON a.id = c.attempt_id
           WHERE c.attempt_id > ${after} AND r.status = 'unknown' AND a.state = 'unknown' AND (${merchantId}::text IS NULL OR r.merchant_id = ${merchantId})
           ORDER BY c.attempt_id LIMIT ${PAGE}
        )
        SELECT a.id AS attempt_id, r.id AS receipt_id, r.merchant_id, r.type::text AS type, r.total_tiyin::text AS total,
               to_char(r.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS created_at, r.device_id,
               length(a.request) > 0 AS was_sending,
               (SELECT jsonb_agg(jsonb_build_object('device_id', d.id, 'name', d.name, 'terminal_id', d.terminal_id,
                                                    'method', c.method, 'verdict', c.verdict, 'evidence', c.evidence) ORDER BY d.id)
                  FROM restore_checks c JOIN devices d ON d.id = c.device_id WHERE c.attempt_id = a.id) AS registers
          FROM page JOIN attempts a ON a.id = page.attempt_id JOIN receipts r ON r.id = a.receipt_id ORDER BY a.id`;
      for (const { attempt_id, total, ...rest } of page)
        yield { attempt_id, decision: null, ...rest, total_tiyin: Number(total) };
      const last = page.at(-1);
      if (!last) return;
      after = last.attempt_id;
    }
  }

  /** Null: no such attempt. */
  async merchantOfAttempt(attemptId: string): Promise<string | null> {
    const [row] = await this.prisma.$queryRaw<{ merchant_id: string }[]>`
      SELECT r.merchant_id FROM attempts a JOIN receipts r ON r.id = a.receipt_id WHERE a.id = ${attemptId}`;
    return row?.merchant_id ?? null;
  }

  /** Registers that stand still because of the restore, oldest id first. */
  stoppedDevices(merchantId: string | null, reason: string): Promise<{ id: string; merchant_id: string }[]> {
    return this.prisma.$queryRaw<{ id: string; merchant_id: string }[]>`
      SELECT id, merchant_id FROM devices
       WHERE state = 'replaced' AND state_reason = ${reason} AND deleted_at IS NULL
         AND (${merchantId}::text IS NULL OR merchant_id = ${merchantId}) ORDER BY id`;
  }

  /** Null: no such device. */
  async merchantOfDevice(deviceId: string): Promise<string | null> {
    const [row] = await this.prisma.$queryRaw<{ merchant_id: string }[]>`
      SELECT merchant_id FROM devices WHERE id = ${deviceId} AND deleted_at IS NULL`;
    return row?.merchant_id ?? null;
  }
}
