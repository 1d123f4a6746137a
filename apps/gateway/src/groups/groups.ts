import { Injectable } from '@nestjs/common';
import { PrismaService, type Prisma } from '#database';
import { newId, Problem } from '#runtime';
import { AuditedChange } from '../audit/audited-change.js';
import type { Caller } from '../audit/caller.js';
import { notFound } from '../http/own-id.js';
import { pageOf, pageRequest, type Page } from '../http/paging.js';
import { given, refuseArchived, refuseTakenCode } from '../places/place-rules.js';
import { assertOwnDevice } from '../places/places.js';
import type { GroupBody, GroupPatch } from './group-bodies.js';
import type { ArchivableQuery } from '../branches/branch-bodies.js';
export interface GroupView {
  id: string;
  code: string;
  name: string;
  default_device_id: string | null;
  archived_at: string | null;
  created_at: string;
}

type GroupRow = Prisma.DeviceGroupGetPayload<object>;

/** Devices that may stand in for one another, also across branches. What receipts may name is archived, never deleted. */
@Injectable()
export class Groups {
  constructor(
    private readonly prisma: PrismaService,
    private readonly changes: AuditedChange,
  ) {}

  async list(merchantId: string, query: ArchivableQuery): Promise<Page<GroupView>> {
    const { limit, afterId } = pageRequest(query, 'grp');
    const rows = await this.prisma.deviceGroup.findMany({
      where: {
        merchantId,
        ...(afterId !== null && { id: { gt: afterId } }),
        ...(query.archived !== 'true' && { archivedAt: null }),
      },
      orderBy: { id: 'asc' },
      take: limit + 1,
    });
    return pageOf(rows, limit, groupView);
  }

  /** @throws Problem 404 */
  async get(merchantId: string, id: string): Promise<GroupView> {
    const row = await this.prisma.deviceGroup.findFirst({ where: { id, merchantId } });
    if (!row) throw notFound('group');
    return groupView(row);
  }

  /** @throws Problem 409 code_taken; 422 for what is named and is not there */
  async create(caller: Caller, body: GroupBody): Promise<GroupView> {
    const { merchantId } = caller;
    const data = { id: newId('grp'), merchantId, code: body.code, name: body.name, ...this.columnsOf(body) };
    return refuseTakenCode(
      this.changes.execute(caller, async (tx) => {
        if (body.default_device_id) await assertOwnDevice(tx, merchantId, body.default_device_id);
        const view = groupView(await tx.deviceGroup.create({ data }));
        return { result: view, action: 'group.create', targetId: view.id, before: null, after: view };
      }),
    );
  }

  /** @throws Problem 404; 409 code_taken, archived; 422 for what is named and is not there */
  async change(caller: Caller, id: string, patch: GroupPatch): Promise<GroupView> {
    const { merchantId } = caller;
    const data = given({ code: patch.code, name: patch.name, ...this.columnsOf(patch) });
    return refuseTakenCode(
      this.changes.execute(caller, async (tx) => {
        const row = await lock(tx, merchantId, id);
        refuseArchived(row);
        if (patch.default_device_id) await assertOwnDevice(tx, merchantId, patch.default_device_id);
        const view = groupView(await tx.deviceGroup.update({ where: { id }, data }));
        return { result: view, action: 'group.change', targetId: id, before: groupView(row), after: view };
      }),
    );
  }

  /** Takes it out of use; archiving it again changes nothing. @throws Problem 404; 409 in_use while live devices belong to it */
  async archive(caller: Caller, id: string): Promise<GroupView> {
    return this.changes.execute(caller, async (tx) => {
      const row = await lock(tx, caller.merchantId, id);
      await refuseInUse(tx, id);
      const archivedAt = row.archivedAt ?? new Date();
      const view = groupView(await tx.deviceGroup.update({ where: { id }, data: { archivedAt } }));
      return { result: view, action: 'group.archive', targetId: id, before: groupView(row), after: view };
    });
  }

  /** @throws Problem 404 */
  async restore(caller: Caller, id: string): Promise<GroupView> {
    return this.changes.execute(caller, async (tx) => {
      const row = await lock(tx, caller.merchantId, id);
      const view = groupView(await tx.deviceGroup.update({ where: { id }, data: { archivedAt: null } }));
      return { result: view, action: 'group.restore', targetId: id, before: groupView(row), after: view };
    });
  }

  private columnsOf(body: GroupPatch): Partial<Pick<GroupRow, 'defaultDeviceId'>> {
    return given({ defaultDeviceId: body.default_device_id });
  }
}

async function lock(tx: Prisma.TransactionClient, merchantId: string, id: string): Promise<GroupRow> {
  await tx.$queryRaw`SELECT id FROM device_groups WHERE id = ${id} AND merchant_id = ${merchantId} FOR UPDATE`;
  const row = await tx.deviceGroup.findFirst({ where: { id, merchantId } });
  if (!row) throw notFound('group');
  return row;
}

async function refuseInUse(tx: Prisma.TransactionClient, groupId: string): Promise<void> {
  const devices = await tx.device.count({ where: { groupId, deletedAt: null } });
  if (devices === 0) return;
  throw new Problem('in_use', `${devices} devices belong to this group; move them first.`);
}

function groupView(row: GroupRow): GroupView {
  return {
    id: row.id,
    code: row.code,
    name: row.name,
    default_device_id: row.defaultDeviceId,
    archived_at: row.archivedAt?.toISOString() ?? null,
    created_at: row.createdAt.toISOString(),
  };
}
