import { Injectable } from '@nestjs/common';
import { Prisma, PrismaService } from '#database';
import { newId } from '#runtime';
import { AuditedChange } from '../../audit/audited-change.js';
import type { Caller } from '../../audit/caller.js';
import { notFound } from '../../http/own-id.js';
import { pageOf, pageRequest, type Page } from '../../http/paging.js';
import { viewOfColumns } from '../../http/view-of-columns.js';
import type { MerchantMode } from '../merchants/merchant-settings.js';
import { refuseTakenCode } from '../places/place-rules.js';
import { readQuotas, type Quotas } from '../usage/quotas.js';
import type { PlatformMerchantBody, PlatformMerchantPatch, PlatformMerchantsQuery } from './platform-bodies.js';

/** A merchant as the platform sees it. */
export interface PlatformMerchantView {
  id: string;
  code: string;
  name: string;
  tin: string;
  mode: MerchantMode;
  suspended_at: string | null;
  suspended_reason: string | null;
  quotas: Quotas;
  created_at: string;
}

/** What a merchant used in a month of Tashkent. */
export interface UsageView {
  /** `YYYY-MM`. */
  month: string;
  receipts: number;
  storage_bytes: number;
}

interface Row extends Omit<PlatformMerchantView, 'suspended_at' | 'quotas' | 'created_at'> {
  suspended_at: Date | null;
  quotas: unknown;
  created_at: Date;
}

const COLUMNS = Prisma.raw(
  'id, code, name, tin, mode::text AS mode, suspended_at, suspended_reason, quotas, created_at',
);
/** Months that one answer holds. */
const MAX_MONTHS = 60;

/** Merchants of this installation: made, suspended, limited and counted. Every change stands on the trail of the merchant. */
@Injectable()
export class PlatformMerchants {
  constructor(
    private readonly prisma: PrismaService,
    private readonly changes: AuditedChange,
  ) {}

  async list(query: PlatformMerchantsQuery): Promise<Page<PlatformMerchantView>> {
    const { limit, afterId } = pageRequest(query, 'mer');
    const conditions = [Prisma.sql`true`];
    if (afterId !== null) conditions.push(Prisma.sql`id > ${afterId}`);
    if (query.mode !== undefined) conditions.push(Prisma.sql`mode = ${query.mode}::merchant_mode`);
    if (query.suspended === 'true') conditions.push(Prisma.sql`suspended_at IS NOT NULL`);
    if (query.suspended === 'false') conditions.push(Prisma.sql`suspended_at IS NULL`);
    const rows = await this.prisma.$queryRaw<Row[]>`
      SELECT ${COLUMNS} FROM merchants WHERE ${Prisma.join(conditions, ' AND ')} ORDER BY id LIMIT ${limit + 1}`;
    return pageOf(rows, limit, merchantView);
  }

  /** @throws Problem 404 */
  async get(id: string): Promise<PlatformMerchantView> {
    const [row] = await this.prisma.$queryRaw<Row[]>`SELECT ${COLUMNS} FROM merchants WHERE id = ${id}`;
    if (!row) throw notFound('merchant');
    return merchantView(row);
  }

  /** @throws Problem 409 code_taken */
  async create(caller: Caller, body: PlatformMerchantBody): Promise<PlatformMerchantView> {
    const { code, name, tin, mode = 'live', quotas = {} } = body;
    const id = newId(mode === 'sandbox' ? 'mer_test' : 'mer');
    const stored = JSON.stringify(mergedQuotas({}, quotas));
    return refuseTakenCode(
      this.changes.execute({ ...caller, merchantId: id }, async (tx) => {
        const [row] = await tx.$queryRaw<Row[]>`
          INSERT INTO merchants (id, code, name, tin, mode, quotas)
          VALUES (${id}, ${code}, ${name}, ${tin}, ${mode}::merchant_mode, ${stored}::jsonb) RETURNING ${COLUMNS}`;
        if (!row) throw new Error('the merchant was not written');
        const view = merchantView(row);
        return { result: view, action: 'merchant.create', targetId: id, before: null, after: view };
      }),
    );
  }

  /** @throws Problem 404 */
  change(caller: Caller, id: string, { name, quotas = {} }: PlatformMerchantPatch): Promise<PlatformMerchantView> {
    return this.update(caller, id, 'merchant.change', (row) => {
      const stored = JSON.stringify(mergedQuotas(row.quotas, quotas));
      return Prisma.sql`name = ${name ?? row.name}, quotas = ${stored}::jsonb`;
    });
  }

  /** From within a second on it accepts nothing; what it has accepted is finished. @throws Problem 404 */
  suspend(caller: Caller, id: string, reason: string): Promise<PlatformMerchantView> {
    return this.update(
      caller,
      id,
      'merchant.suspend',
      () => Prisma.sql`suspended_at = coalesce(suspended_at, now()), suspended_reason = ${reason}`,
    );
  }

  /** @throws Problem 404 */
  resume(caller: Caller, id: string): Promise<PlatformMerchantView> {
    const free = Prisma.sql`suspended_at = NULL, suspended_reason = NULL`;
    return this.update(caller, id, 'merchant.resume', () => free);
  }

  /** By month, the oldest first. @throws Problem 404 */
  async usage(id: string, { from, to }: { from?: string | undefined; to?: string | undefined }): Promise<UsageView[]> {
    await this.get(id);
    const first =
      from === undefined ? Prisma.sql`date_trunc('month', now() AT TIME ZONE 'Asia/Tashkent')` : monthOf(from);
    const last = to === undefined ? Prisma.sql`(now() AT TIME ZONE 'Asia/Tashkent')` : monthOf(to);
    return this.prisma.$queryRaw<UsageView[]>`
      SELECT to_char(date_trunc('month', day), 'YYYY-MM') AS month, sum(receipts)::float8 AS receipts,
             sum(storage_bytes)::float8 AS storage_bytes
        FROM merchant_usage
       WHERE merchant_id = ${id} AND day >= ${first}::date
         AND day < (date_trunc('month', ${last}::timestamp) + interval '1 month')::date
       GROUP BY 1 ORDER BY 1 LIMIT ${MAX_MONTHS}`;
  }

  private update(
    caller: Caller,
    id: string,
    action: string,
    set: (row: Row) => Prisma.Sql,
  ): Promise<PlatformMerchantView> {
    return this.changes.execute({ ...caller, merchantId: id }, async (tx) => {
      const [row] = await tx.$queryRaw<Row[]>`SELECT ${COLUMNS} FROM merchants WHERE id = ${id} FOR NO KEY UPDATE`;
      if (!row) throw notFound('merchant');
      const [changed] = await tx.$queryRaw<Row[]>`
        UPDATE merchants SET ${set(row)} WHERE id = ${id} RETURNING ${COLUMNS}`;
      if (!changed) throw notFound('merchant');
      const after = merchantView(changed);
      return { result: after, action, targetId: id, before: merchantView(row), after };
    });
  }
}

function monthOf(text: string): Prisma.Sql {
  return Prisma.sql`${`${text}-01`}::timestamp`;
}

/** Only what is a quota is kept. */
function mergedQuotas(stored: unknown, changed: Partial<Quotas>): Partial<Quotas> {
  const all = { ...readQuotas(stored), ...changed };
  return Object.fromEntries(Object.entries(all).filter(([, limit]) => typeof limit === 'number'));
}

function merchantView(row: Row): PlatformMerchantView {
  return {
    ...viewOfColumns(row, 'id', 'code', 'name', 'tin', 'mode', 'suspended_at', 'suspended_reason', 'created_at'),
    quotas: readQuotas(row.quotas),
  };
}
