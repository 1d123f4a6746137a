import { Injectable } from '@nestjs/common';
import { PrismaService, type Prisma } from '#database';
import { newId, Problem } from '#runtime';
import { AuditedChange } from '../audit/audited-change.js';
import type { Caller } from '../audit/caller.js';
import { notFound } from '../http/own-id.js';
import { pageOf, pageRequest, type Page } from '../http/paging.js';
import { given, refuseArchived, refuseTakenCode } from '../places/place-rules.js';
import { assertOwnDevice } from '../places/places.js';
import type { ArchivableQuery, BranchBody, BranchPatch } from './branch-bodies.js';

export interface BranchView {
  id: string;
  code: string;
  name: string;
  address: string;
  default_device_id: string | null;
  archived_at: string | null;
  created_at: string;
}

type BranchRow = Prisma.BranchGetPayload<object>;

/** Where registers stand and cashiers work. What receipts may name is archived, never deleted. */
@Injectable()
export class Branches {
  constructor(
    private readonly prisma: PrismaService,
    private readonly changes: AuditedChange,
  ) {}

  async list(merchantId: string, query: ArchivableQuery): Promise<Page<BranchView>> {
    const { limit, afterId } = pageRequest(query, 'brn');
    const rows = await this.prisma.branch.findMany({
      where: {
        merchantId,
        ...(afterId !== null && { id: { gt: afterId } }),
        ...(query.archived !== 'true' && { archivedAt: null }),
      },
      orderBy: { id: 'asc' },
      take: limit + 1,
    });
    return pageOf(rows, limit, branchView);
  }

  /** @throws Problem 404 */
  async get(merchantId: string, id: string): Promise<BranchView> {
    const row = await this.prisma.branch.findFirst({ where: { id, merchantId } });
    if (!row) throw notFound('branch');
    return branchView(row);
  }

  /** @throws Problem 409 code_taken; 422 for what is named and is not there */
  async create(caller: Caller, body: BranchBody): Promise<BranchView> {
    const { merchantId } = caller;
    const data = { id: newId('brn'), merchantId, code: body.code, name: body.name, ...this.columnsOf(body) };
    return refuseTakenCode(
      this.changes.execute(caller, async (tx) => {
        if (body.default_device_id) await assertOwnDevice(tx, merchantId, body.default_device_id);
        const view = branchView(await tx.branch.create({ data }));
        return { result: view, action: 'branch.create', targetId: view.id, before: null, after: view };
      }),
    );
  }

  /** @throws Problem 404; 409 code_taken, archived; 422 for what is named and is not there */
  async change(caller: Caller, id: string, patch: BranchPatch): Promise<BranchView> {
    const { merchantId } = caller;
    const data = given({ code: patch.code, name: patch.name, ...this.columnsOf(patch) });
    return refuseTakenCode(
      this.changes.execute(caller, async (tx) => {
        const row = await lock(tx, merchantId, id);
        refuseArchived(row);
        if (patch.default_device_id) await assertOwnDevice(tx, merchantId, patch.default_device_id);
        const view = branchView(await tx.branch.update({ where: { id }, data }));
        return { result: view, action: 'branch.change', targetId: id, before: branchView(row), after: view };
      }),
    );
  }

  /** Takes it out of use; archiving it again changes nothing. @throws Problem 404; 409 in_use while live devices or cashiers belong to it */
  async archive(caller: Caller, id: string): Promise<BranchView> {
    return this.changes.execute(caller, async (tx) => {
      const row = await lock(tx, caller.merchantId, id);
      await refuseInUse(tx, id);
      const archivedAt = row.archivedAt ?? new Date();
      const view = branchView(await tx.branch.update({ where: { id }, data: { archivedAt } }));
      return { result: view, action: 'branch.archive', targetId: id, before: branchView(row), after: view };
    });
  }

  /** @throws Problem 404 */
  async restore(caller: Caller, id: string): Promise<BranchView> {
    return this.changes.execute(caller, async (tx) => {
      const row = await lock(tx, caller.merchantId, id);
      const view = branchView(await tx.branch.update({ where: { id }, data: { archivedAt: null } }));
      return { result: view, action: 'branch.restore', targetId: id, before: branchView(row), after: view };
    });
  }

  private columnsOf(body: BranchPatch): Partial<Pick<BranchRow, 'address' | 'defaultDeviceId'>> {
    return given({ address: body.address, defaultDeviceId: body.default_device_id });
  }
}

async function lock(tx: Prisma.TransactionClient, merchantId: string, id: string): Promise<BranchRow> {
  await tx.$queryRaw`SELECT id FROM branches WHERE id = ${id} AND merchant_id = ${merchantId} FOR UPDATE`;
  const row = await tx.branch.findFirst({ where: { id, merchantId } });
  if (!row) throw notFound('branch');
  return row;
}

async function refuseInUse(tx: Prisma.TransactionClient, branchId: string): Promise<void> {
  const devices = await tx.device.count({ where: { branchId, deletedAt: null } });
  const cashiers = await tx.cashier.count({ where: { branchId, archivedAt: null } });
  if (devices + cashiers === 0) return;
  throw new Problem('in_use', `${devices} devices and ${cashiers} cashiers belong to this branch; move them first.`);
}

function branchView(row: BranchRow): BranchView {
  return {
    id: row.id,
    code: row.code,
    name: row.name,
    address: row.address,
    default_device_id: row.defaultDeviceId,
    archived_at: row.archivedAt?.toISOString() ?? null,
    created_at: row.createdAt.toISOString(),
  };
}
