import { Injectable } from '@nestjs/common';
import { Prisma, PrismaService } from '#database';

/** Numbers that a fiscal module has given out and that no receipt here bears. Times in RFC 3339, UTC. */
export interface RegisterGap {
  device_id: string;
  name: string;
  merchant_id: string;
  terminal_id: string;
  /** `shared`: others sell at the register as well, so that numbers of theirs are among these. */
  sharing: 'exclusive' | 'shared';
  from_seq: number;
  to_seq: number;
  documents: number;
  /** The document here before them; null: none of this register is here, so that all that its counter says may have been sold before it was added. */
  after: { receipt_seq: number; registered_at: string } | null;
  /** The next document here; null: the register's own counter, as it was last read, says that there are more. */
  before: { receipt_seq: number; registered_at: string } | null;
  /** When that counter was read. */
  read_at: string | null;
}

const PAGE = 200;

/**
 * What registers have and this database lacks, after a copy was put back or a standby that lagged was promoted: a module counts its
 * documents without a gap, so that a missing number is a document which the gateway does not know. Each is to be looked up in the
 * register's journal or in the OFD's cabinet.
 */
@Injectable()
export class RegisterGaps {
  constructor(private readonly prisma: PrismaService) {}

  /**
   * Of registers that are there, in the order of their ids; all merchants unless one is named. Of a register of which this database has
   * no document from before `since`, those after its first one: what it sold before it was added is not missing. Of one without any document
   * here, all numbers that its counter has given out, whatever their time.
   * @param since what was registered from then on, with the last document before
   */
  async *list(since: Date, merchantId: string | null): AsyncGenerator<RegisterGap, void, undefined> {
    for (let after = ''; ;) {
      const page = await this.page(since, merchantId, after);
      for (const { gaps, ...device } of page) for (const gap of gaps) yield { ...device, ...gap };
      const last = page.at(-1);
      if (!last) return;
      after = last.device_id;
    }
  }

  /**
   * By numbers and not by times, which are the register's own: the least number since then (`OFFSET 0`: sought by time, or PostgreSQL
   * would walk up all numbers of the register to it), the one before it that is known, and all from there on, up to the module's own
   * counter. That counts from the last document or from the next one (counter-proof.ts); as long as it is not known, from the last.
   */
  private page(since: Date, merchantId: string | null, after: string): Promise<DeviceGaps[]> {
    return this.prisma.$queryRaw<DeviceGaps[]>`
      SELECT d.id AS device_id, d.name, d.merchant_id, d.terminal_id,
             CASE d.profile ->> 'sharing' WHEN 'exclusive' THEN 'exclusive' ELSE 'shared' END AS sharing,
             coalesce(g.gaps, '[]') AS gaps
        FROM (SELECT id, name, merchant_id, terminal_id, profile, reading, reading_at FROM devices
               WHERE deleted_at IS NULL AND terminal_id IS NOT NULL AND id > ${after}
                 AND (${merchantId}::text IS NULL OR merchant_id = ${merchantId})
               ORDER BY id LIMIT ${PAGE}) d
        LEFT JOIN lanes l ON l.device_id = d.id
       CROSS JOIN LATERAL (SELECT min(s.receipt_seq) AS seq
                             FROM (SELECT receipt_seq FROM receipts
                                    WHERE terminal_id = d.terminal_id AND status = 'registered' AND registered_at >= ${since} OFFSET 0) s) least
       CROSS JOIN LATERAL (SELECT max(receipt_seq) AS seq FROM registration_claims
                            WHERE terminal_id = d.terminal_id AND receipt_seq < coalesce(least.seq, 9223372036854775807)) known
       CROSS JOIN LATERAL (SELECT max(receipt_seq) AS seq FROM registration_claims WHERE terminal_id = d.terminal_id) newest
       CROSS JOIN LATERAL (
         SELECT jsonb_agg(jsonb_build_object(
                  'from_seq', n.seq + 1, 'to_seq', n.next - 1, 'documents', n.next - 1 - n.seq,
                  'after', CASE WHEN n.at IS NOT NULL
                                THEN jsonb_build_object('receipt_seq', n.seq, 'registered_at', ${inUtc('n.at')}) END,
                  'before', CASE WHEN n.next_at IS NOT NULL
                                 THEN jsonb_build_object('receipt_seq', n.next, 'registered_at', ${inUtc('n.next_at')}) END,
                  'read_at', CASE WHEN n.next_at IS NULL THEN ${inUtc('d.reading_at')} END) ORDER BY n.seq) AS gaps
           FROM (SELECT s.seq, s.at, lead(s.seq) OVER w AS next, lead(s.at) OVER w AS next_at
                   FROM (SELECT c.receipt_seq AS seq, (SELECT r.registered_at FROM receipts r WHERE r.id = c.receipt_id) AS at
                           FROM registration_claims c
                          WHERE c.terminal_id = d.terminal_id AND c.receipt_seq >= coalesce(known.seq, least.seq)
                         UNION ALL SELECT 0, NULL WHERE newest.seq IS NULL
                         UNION ALL
                         SELECT m.last + 1, NULL
                           FROM (SELECT (d.reading ->> 'receiptSeq')::bigint - coalesce((l.calibration ->> 'sequenceOffset')::bigint, 0)) m(last)
                          WHERE d.reading ->> 'terminalId' = d.terminal_id AND m.last > coalesce(newest.seq, 0)) s
                 WINDOW w AS (ORDER BY s.seq)) n
          WHERE n.next > n.seq + 1) g
       ORDER BY d.id`;
  }
}

function inUtc(column: 'n.at' | 'n.next_at' | 'd.reading_at'): Prisma.Sql {
  return Prisma.sql`to_char(${Prisma.raw(column)} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;
}

interface DeviceGaps extends Pick<RegisterGap, 'device_id' | 'name' | 'merchant_id' | 'terminal_id' | 'sharing'> {
  gaps: Omit<RegisterGap, keyof DeviceGaps>[];
}
