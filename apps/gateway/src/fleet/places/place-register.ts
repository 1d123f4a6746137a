import type { Prisma, PrismaService } from '#database';
import { newId } from '#runtime';
import type { AuditedChange } from '../../audit/audited-change.js';
import type { Caller } from '../../audit/caller.js';
import { notFound } from '../../http/own-id.js';
import { pageOf, pageRequest, type Page } from '../../http/paging.js';
import type { ArchivableQuery, PlaceBody, PlacePatch } from './place-bodies.js';
import { given } from '../../http/given.js';
import { viewOfColumns } from '../../http/view-of-columns.js';
import { refuseArchived, refuseTakenCode } from './place-rules.js';
import { assertOwnDevice } from './places.js';

/** What every kind of place has. */
export interface PlaceRow {
  id: string;
  code: string;
  name: string;
  defaultDeviceId: string | null;
  archivedAt: Date | null;
  createdAt: Date;
}

export interface PlaceView {
  id: string;
  code: string;
  name: string;
  default_device_id: string | null;
  archived_at: string | null;
  created_at: string;
}

/** Rows of one kind, in a transaction or not. */
export interface PlaceTable<Row> {
  list(db: Prisma.TransactionClient, where: object, take: number): Promise<Row[]>;
  find(db: Prisma.TransactionClient, where: { id: string; merchantId: string }): Promise<Row | null>;
  /** Until the end of the transaction. */
  lock(tx: Prisma.TransactionClient, id: string): Promise<unknown>;
  create(tx: Prisma.TransactionClient, row: NewPlace): Promise<Row>;
  update(tx: Prisma.TransactionClient, id: string, data: object): Promise<Row>;
}

export interface NewPlace {
  id: string;
  merchantId: string;
  code: string;
  name: string;
}

/** What distinguishes branches, groups and cashiers. */
export interface PlaceKind<Row, View> {
  prefix: 'brn' | 'grp' | 'csh';
  /** In answers and on the audit trail. */
  name: 'branch' | 'group' | 'cashier';
  table: PlaceTable<Row>;
  view: (row: Row) => View;
  /** @throws Problem 409 in_use while something live belongs to it */
  refuseInUse: (tx: Prisma.TransactionClient, id: string) => Promise<void>;
}

/**
 * Branches, groups and cashiers of a merchant: listed, made, changed, archived, restored, each change on the audit trail.
 * What receipts may name is archived, never deleted.
 */
export abstract class PlaceRegister<Row extends PlaceRow, View extends PlaceView, Patch extends PlacePatch> {
  constructor(
    private readonly prisma: PrismaService,
    private readonly changes: AuditedChange,
    private readonly kind: PlaceKind<Row, View>,
  ) {}

  async list(merchantId: string, query: ArchivableQuery): Promise<Page<View>> {
    const { prefix, table, view } = this.kind;
    const { limit, afterId } = pageRequest(query, prefix);
    const where = {
      merchantId,
      ...(afterId !== null && { id: { gt: afterId } }),
      ...(query.archived !== 'true' && { archivedAt: null }),
    };
    return pageOf(await table.list(this.prisma, where, limit + 1), limit, view);
  }

  /** @throws Problem 404 */
  async get(merchantId: string, id: string): Promise<View> {
    const { name, table, view } = this.kind;
    const row = await table.find(this.prisma, { id, merchantId });
    if (!row) throw notFound(name);
    return view(row);
  }

  /** @throws Problem 409 code_taken; 422 for what is named and is not there */
  async create(caller: Caller, body: PlaceBody & Patch): Promise<View> {
    const { merchantId } = caller;
    const { prefix, name, table, view } = this.kind;
    const own = { id: newId(prefix), merchantId, code: body.code, name: body.name };
    const row = { ...own, ...(await this.columns(merchantId, body)) };
    return refuseTakenCode(
      this.changes.execute(caller, async (tx) => {
        if (body.default_device_id) await assertOwnDevice(tx, merchantId, body.default_device_id);
        const after = view(await table.create(tx, row));
        return { result: after, action: `${name}.create`, targetId: after.id, before: null, after };
      }),
    );
  }

  /** @throws Problem 404; 409 code_taken, archived; 422 for what is named and is not there */
  async change(caller: Caller, id: string, patch: Patch): Promise<View> {
    const { merchantId } = caller;
    const data = given({ code: patch.code, name: patch.name, ...(await this.columns(merchantId, patch)) });
    return refuseTakenCode(
      this.write(caller, { id, verb: 'change' }, async (tx, row) => {
        refuseArchived(row);
        if (patch.default_device_id) await assertOwnDevice(tx, merchantId, patch.default_device_id);
        return data;
      }),
    );
  }

  /** Takes it out of use; archiving it again changes nothing. @throws Problem 404; 409 in_use while something live belongs to it */
  archive(caller: Caller, id: string): Promise<View> {
    return this.write(caller, { id, verb: 'archive' }, async (tx, row) => {
      await this.kind.refuseInUse(tx, id);
      return { archivedAt: row.archivedAt ?? new Date() };
    });
  }

  /** @throws Problem 404 */
  restore(caller: Caller, id: string): Promise<View> {
    return this.write(caller, { id, verb: 'restore' }, () => Promise.resolve({ archivedAt: null }));
  }

  /** Columns of this kind alone, from what the body names. @throws Problem 422 for what is not there */
  protected abstract columnsOf(merchantId: string, body: Patch): Promise<object>;

  private async columns(merchantId: string, body: Patch): Promise<object> {
    return given({ defaultDeviceId: body.default_device_id, ...(await this.columnsOf(merchantId, body)) });
  }

  private write(
    caller: Caller,
    { id, verb }: { id: string; verb: 'change' | 'archive' | 'restore' },
    decide: (tx: Prisma.TransactionClient, row: Row) => Promise<object>,
  ): Promise<View> {
    const { name, table, view } = this.kind;
    return this.changes.execute(caller, async (tx) => {
      await table.lock(tx, id);
      const row = await table.find(tx, { id, merchantId: caller.merchantId });
      if (!row) throw notFound(name);
      const after = view(await table.update(tx, id, await decide(tx, row)));
      return { result: after, action: `${name}.${verb}`, targetId: id, before: view(row), after };
    });
  }
}

export function placeView(row: PlaceRow): PlaceView {
  return viewOfColumns(row, 'id', 'code', 'name', 'defaultDeviceId', 'archivedAt', 'createdAt');
}
