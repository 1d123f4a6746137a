import { Injectable } from '@nestjs/common';
import { PrismaService, type Prisma } from '#database';
import { AuditedChange } from '../../audit/audited-change.js';
import { PlaceRegister, placeView, type PlaceTable, type PlaceView } from '../places/place-register.js';
import { Places } from '../places/places.js';
import type { CashierPatch } from './cashier-bodies.js';

export interface CashierView extends PlaceView {
  branch_id: string | null;
}

type CashierRow = Prisma.CashierGetPayload<object>;

const TABLE: PlaceTable<CashierRow> = {
  list: (db, where, take) => db.cashier.findMany({ where, orderBy: { id: 'asc' }, take }),
  find: (db, where) => db.cashier.findFirst({ where }),
  lock: (tx, id) => tx.$queryRaw`SELECT FROM cashiers WHERE id = ${id} FOR UPDATE`,
  create: (tx, data) => tx.cashier.create({ data }),
  update: (tx, id, data) => tx.cashier.update({ where: { id }, data }),
};

/** Who sells; a receipt names one of them. */
@Injectable()
export class Cashiers extends PlaceRegister<CashierRow, CashierView, CashierPatch> {
  constructor(
    prisma: PrismaService,
    changes: AuditedChange,
    private readonly places: Places,
  ) {
    // Nothing belongs to a cashier: one who leaves is archived at once.
    const refuseInUse = (): Promise<void> => Promise.resolve();
    super(prisma, changes, { prefix: 'csh', name: 'cashier', table: TABLE, view: cashierView, refuseInUse });
  }

  protected async columnsOf(merchantId: string, { branch_id: named }: CashierPatch): Promise<object> {
    return { branchId: typeof named === 'string' ? await this.places.branchId(merchantId, named) : named };
  }
}

function cashierView(row: CashierRow): CashierView {
  return { ...placeView(row), branch_id: row.branchId };
}
