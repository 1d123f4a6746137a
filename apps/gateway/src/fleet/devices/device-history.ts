import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database';
import { listAttempts } from '#ledger';
import { snakeCased } from '../../http/snake-cased.js';
import { pageOf, pageRequest, type Page, type PageQuery } from '../../http/paging.js';

/** One try to register a document, newest first; for support. */
export interface AttemptView {
  id: string;
  receipt_id: string;
  number: number;
  state: string;
  created_at: string;
  closed_at: string | null;
  http_status: number | null;
  relay_id: string;
  outcome: unknown;
}

/** A closed shift, newest first. `totals`, `own` in tiyin; `own` and `difference` null = not compared yet. */
export interface ZReportView {
  id: string;
  terminal_id: string;
  number: number;
  opened_at: string;
  closed_at: string | null;
  totals: unknown;
  own: unknown;
  difference: unknown;
  ofd: { status: string; sent_at: string | null };
}

interface ZReportRow extends Omit<ZReportView, 'opened_at' | 'closed_at' | 'ofd'> {
  opened_at: Date;
  closed_at: Date | null;
  ofd_status: string;
  ofd_sent_at: Date | null;
}

/** What has happened at a device. The caller has made sure that it is the merchant's. */
@Injectable()
export class DeviceHistory {
  constructor(private readonly prisma: PrismaService) {}

  async attempts(deviceId: string, query: PageQuery): Promise<Page<AttemptView>> {
    const { limit, afterId } = pageRequest(query, 'att');
    const rows = await listAttempts(this.prisma, deviceId, { afterId, limit: limit + 1 });
    return pageOf(rows, limit, (row) => ({
      ...row,
      created_at: row.created_at.toISOString(),
      closed_at: row.closed_at?.toISOString() ?? null,
    }));
  }

  async zReports(deviceId: string, query: PageQuery): Promise<Page<ZReportView>> {
    const { limit, afterId } = pageRequest(query, 'sht');
    const rows = await this.prisma.$queryRaw<ZReportRow[]>`
      SELECT s.id, s.terminal_id, s.number, s.opened_at, s.closed_at, z.totals, z.own, z.difference,
             z.ofd_status::text, z.ofd_sent_at
        FROM shifts s JOIN z_reports z ON z.shift_id = s.id
       WHERE s.device_id = ${deviceId} AND (${afterId}::text IS NULL OR s.id < ${afterId})
       ORDER BY s.id DESC LIMIT ${limit + 1}`;
    return pageOf(rows, limit, ({ ofd_status: status, ofd_sent_at: sentAt, ...row }) => ({
      ...row,
      totals: snakeCased(row.totals),
      own: snakeCased(row.own),
      difference: snakeCased(row.difference),
      opened_at: row.opened_at.toISOString(),
      closed_at: row.closed_at?.toISOString() ?? null,
      ofd: { status, sent_at: sentAt?.toISOString() ?? null },
    }));
  }
}
