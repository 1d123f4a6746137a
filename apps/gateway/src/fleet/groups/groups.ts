import { Injectable } from '@nestjs/common';
import { PrismaService, type Prisma } from '#database';
import { Problem } from '#problems';
import { AuditedChange } from '../../audit/audited-change.js';
import type { PlacePatch } from '../places/place-bodies.js';
import { PlaceRegister, placeView, type PlaceTable, type PlaceView } from '../places/place-register.js';

type GroupRow = Prisma.DeviceGroupGetPayload<object>;

const TABLE: PlaceTable<GroupRow> = {
  list: (db, where, take) => db.deviceGroup.findMany({ where, orderBy: { id: 'asc' }, take }),
  find: (db, where) => db.deviceGroup.findFirst({ where }),
  lock: (tx, id) => tx.$queryRaw`SELECT FROM device_groups WHERE id = ${id} FOR UPDATE`,
  create: (tx, data) => tx.deviceGroup.create({ data }),
  update: (tx, id, data) => tx.deviceGroup.update({ where: { id }, data }),
};

/** Devices that may stand in for one another, also across branches. */
@Injectable()
export class Groups extends PlaceRegister<GroupRow, PlaceView, PlacePatch> {
  constructor(prisma: PrismaService, changes: AuditedChange) {
    super(prisma, changes, { prefix: 'grp', name: 'group', table: TABLE, view: placeView, refuseInUse });
  }

  /** A group is nothing but its name and its devices. */
  protected columnsOf(): Promise<object> {
    return Promise.resolve({});
  }
}

async function refuseInUse(tx: Prisma.TransactionClient, groupId: string): Promise<void> {
  const devices = await tx.device.count({ where: { groupId, deletedAt: null } });
  if (devices === 0) return;
  throw new Problem('in_use', `${devices} devices belong to this group; move them first.`);
}
