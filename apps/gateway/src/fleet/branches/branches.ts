import { Injectable } from '@nestjs/common';
import { PrismaService, type Prisma } from '#database';
import { Problem } from '#problems';
import { AuditedChange } from '../../audit/audited-change.js';
import { PlaceRegister, placeView, type PlaceTable, type PlaceView } from '../places/place-register.js';
import type { BranchPatch } from './branch-bodies.js';

export interface BranchView extends PlaceView {
  address: string;
}

type BranchRow = Prisma.BranchGetPayload<object>;

const TABLE: PlaceTable<BranchRow> = {
  list: (db, where, take) => db.branch.findMany({ where, orderBy: { id: 'asc' }, take }),
  find: (db, where) => db.branch.findFirst({ where }),
  lock: (tx, id) => tx.$queryRaw`SELECT FROM branches WHERE id = ${id} FOR UPDATE`,
  create: (tx, data) => tx.branch.create({ data }),
  update: (tx, id, data) => tx.branch.update({ where: { id }, data }),
};

/** Where registers stand and cashiers work. */
@Injectable()
export class Branches extends PlaceRegister<BranchRow, BranchView, BranchPatch> {
  constructor(prisma: PrismaService, changes: AuditedChange) {
    super(prisma, changes, { prefix: 'brn', name: 'branch', table: TABLE, view: branchView, refuseInUse });
  }

  protected columnsOf(_merchantId: string, { address }: BranchPatch): Promise<object> {
    return Promise.resolve({ address });
  }
}

async function refuseInUse(tx: Prisma.TransactionClient, branchId: string): Promise<void> {
  const devices = await tx.device.count({ where: { branchId, deletedAt: null } });
  const cashiers = await tx.cashier.count({ where: { branchId, archivedAt: null } });
  if (devices + cashiers === 0) return;
  throw new Problem('in_use', `${devices} devices and ${cashiers} cashiers belong to this branch; move them first.`);
}

function branchView(row: BranchRow): BranchView {
  return { ...placeView(row), address: row.address };
}
