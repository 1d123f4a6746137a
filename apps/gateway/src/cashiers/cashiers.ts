import { Injectable } from '@nestjs/common';
import { PrismaService, type Prisma } from '#database';
import { newId } from '#runtime';
import { AuditedChange } from '../audit/audited-change.js';
import type { Caller } from '../audit/caller.js';
import { notFound } from '../http/own-id.js';
import { pageOf, pageRequest, type Page } from '../http/paging.js';
import { given, refuseArchived, refuseTakenCode } from '../places/place-rules.js';
import { assertOwnDevice, Places } from '../places/places.js';
import type { CashierBody, CashierPatch } from './cashier-bodies.js';
import type { ArchivableQuery } from '../branches/branch-bodies.js';
export interface CashierView {
  id: string;
  code: string;
  name: string;
  branch_id: string | null;
  default_device_id: string | null;
  archived_at: string | null;
  created_at: string;
}

type CashierRow = Prisma.CashierGetPayload<object>;

/** Who sells; a receipt names one of them. What receipts may name is archived, never deleted. */
@Injectable()
export class Cashiers {
  constructor(
    private readonly prisma: PrismaService,
    private readonly changes: AuditedChange,
    private readonly places: Places,
  ) {}

  async list(merchantId: string, query: ArchivableQuery): Promise<Page<CashierView>> {
    const { limit, afterId } = pageRequest(query, 'csh');
    const rows = await this.prisma.cashier.findMany({
      where: {
        merchantId,
        ...(afterId !== null && { id: { gt: afterId } }),
        ...(query.archived !== 'true' && { archivedAt: null }),
      },
      orderBy: { id: 'asc' },
      take: limit + 1,
    });
    return pageOf(rows, limit, cashierView);
  }

  /** @throws Problem 404 */
  async get(merchantId: string, id: string): Promise<CashierView> {
    const row = await this.prisma.cashier.findFirst({ where: { id, merchantId } });
    if (!row) throw notFound('cashier');
    return cashierView(row);
  }

  /** @throws Problem 409 code_taken; 422 for what is named and is not there */
  async create(caller: Caller, body: CashierBody): Promise<CashierView> {
    const { merchantId } = caller;
    const data = {
      id: newId('csh'),
      merchantId,
      code: body.code,
      name: body.name,
      ...(await this.columnsOf(merchantId, body)),
    };
    return refuseTakenCode(
      this.changes.execute(caller, async (tx) => {
        if (body.default_device_id) await assertOwnDevice(tx, merchantId, body.default_device_id);
        const view = cashierView(await tx.cashier.create({ data }));
        return { result: view, action: 'cashier.create', targetId: view.id, before: null, after: view };
      }),
    );
  }

  /** @throws Problem 404; 409 code_taken, archived; 422 for what is named and is not there */
  async change(caller: Caller, id: string, patch: CashierPatch): Promise<CashierView> {
    const { merchantId } = caller;
    const data = given({ code: patch.code, name: patch.name, ...(await this.columnsOf(merchantId, patch)) });
    return refuseTakenCode(
      this.changes.execute(caller, async (tx) => {
        const row = await lock(tx, merchantId, id);
        refuseArchived(row);
        if (patch.default_device_id) await assertOwnDevice(tx, merchantId, patch.default_device_id);
        const view = cashierView(await tx.cashier.update({ where: { id }, data }));
        return { result: view, action: 'cashier.change', targetId: id, before: cashierView(row), after: view };
      }),
    );
  }

  /** Takes it out of use; archiving it again changes nothing. @throws Problem 404 */
  async archive(caller: Caller, id: string): Promise<CashierView> {
    return this.changes.execute(caller, async (tx) => {
      const row = await lock(tx, caller.merchantId, id);
      const archivedAt = row.archivedAt ?? new Date();
      const view = cashierView(await tx.cashier.update({ where: { id }, data: { archivedAt } }));
      return { result: view, action: 'cashier.archive', targetId: id, before: cashierView(row), after: view };
    });
  }

  /** @throws Problem 404 */
  async restore(caller: Caller, id: string): Promise<CashierView> {
    return this.changes.execute(caller, async (tx) => {
      const row = await lock(tx, caller.merchantId, id);
      const view = cashierView(await tx.cashier.update({ where: { id }, data: { archivedAt: null } }));
      return { result: view, action: 'cashier.restore', targetId: id, before: cashierView(row), after: view };
    });
  }

  private async columnsOf(
    merchantId: string,
    body: CashierPatch,
  ): Promise<Partial<Pick<CashierRow, 'branchId' | 'defaultDeviceId'>>> {
    const named = body.branch_id;
    const branchId = typeof named === 'string' ? await this.places.branchId(merchantId, named) : named;
    return given({ branchId, defaultDeviceId: body.default_device_id });
  }
}

async function lock(tx: Prisma.TransactionClient, merchantId: string, id: string): Promise<CashierRow> {
  await tx.$queryRaw`SELECT id FROM cashiers WHERE id = ${id} AND merchant_id = ${merchantId} FOR UPDATE`;
  const row = await tx.cashier.findFirst({ where: { id, merchantId } });
  if (!row) throw notFound('cashier');
  return row;
}

function cashierView(row: CashierRow): CashierView {
  return {
    id: row.id,
    code: row.code,
    name: row.name,
    branch_id: row.branchId,
    default_device_id: row.defaultDeviceId,
    archived_at: row.archivedAt?.toISOString() ?? null,
    created_at: row.createdAt.toISOString(),
  };
}
