import { Injectable } from '@nestjs/common';
import type { StoredReceiptDocument } from '#database';
import { newReceiptEventId, type NewReceipt, type ReceiptRow, type StoredIdentity } from '#ledger';
import { Problem } from '#problems';
import { canonicalJson, newIdOf, sampledTraceParent, sha256 } from '#runtime';
import type { Route } from '../fleet/devices/choose-device.js';
import type { IsCallerGone } from '../http/caller-gone.js';
import { acceptedRow } from './accepted-row.js';
import { judgeConflict, type Acceptance } from './accept-receipts.js';
import { AdmitReceipts } from './admit-receipts.js';
import { PrepareReceipt, type Prepared } from './prepare-receipt.js';
import type { ReceiptBody } from './receipt-body.js';
import { RecentRequests } from './recent-requests.js';
import { ReceiptRepository } from './receipt.repository.js';
import { RingLanes } from './ring-lanes.js';
import { SettledReceipts } from './settled-receipts.js';

export interface CreateReceiptCommand {
  merchantId: string;
  clientId: string;
  idempotencyKey: string | null;
  body: ReceiptBody;
  /** How long the caller wants to wait for the register; 0 = not at all. */
  waitSeconds: number;
  /** Absent where a program of ours asks. */
  isCallerGone?: IsCallerGone;
  /** Called when the receipt is on disk; not for one that was stored before. */
  onStored?: () => void;
}

export interface CreatedReceipt {
  row: ReceiptRow;
  replayed: boolean;
}

/** One that can be written, or what was found to have been stored before. */
export type ReadyReceipt =
  | { kind: 'ready'; identity: StoredIdentity; row: NewReceipt }
  | ({ kind: 'found' } & CreatedReceipt);

const OPERATION = 'receipts';

/**
 * POST /v1/receipts: compose → commit → ring → wait. Before the commit nothing has happened, after it everything will:
 * the answer may be lost, the process may die, the bell may be deaf; the lane finds the row.
 */
@Injectable()
export class CreateReceipt {
  constructor(
    private readonly preparer: PrepareReceipt,
    private readonly admission: AdmitReceipts,
    private readonly receipts: ReceiptRepository,
    private readonly lanes: RingLanes,
    private readonly settled: SettledReceipts,
    private readonly recent: RecentRequests,
  ) {}

  /** @throws Problem 422 (rules, mismatch), 409 (same key being written), 429 (quota), 503 (no device, database away) */
  async execute(command: CreateReceiptCommand): Promise<CreatedReceipt> {
    return this.store(await this.prepare(command), command);
  }

  /**
   * Everything before the first write: what is prepared together can be stored in an order.
   * @param refusal why it may not be stored; what was stored before is read all the same
   */
  async prepare(command: CreateReceiptCommand, refusal: Problem | null = null): Promise<ReadyReceipt> {
    const identity = identityOf(command);
    const repeated = await this.findRepeated(identity);
    if (repeated) return { kind: 'found', ...repeated };
    const prepared: Prepared = refusal
      ? { kind: 'refused', problem: refusal }
      : await this.preparer.prepare(command.merchantId, command.body);
    if (prepared.kind === 'refused') {
      // A replay is never refused by a rule that may have changed since: the key is looked up first.
      const replay = await this.findReplay(identity);
      if (replay) return { kind: 'found', ...replay };
      throw prepared.problem;
    }
    return { kind: 'ready', identity, row: newReceipt(identity, prepared.route, prepared.document) };
  }

  /** The receipts of calls that follow one another at once are written, and stand in their lanes, in the order of these calls. */
  async store(ready: ReadyReceipt, command: CreateReceiptCommand): Promise<CreatedReceipt> {
    if (ready.kind === 'found') return { row: ready.row, replayed: ready.replayed };
    const { identity, row } = ready;
    const waiter = this.settled.watch(row.id);
    try {
      const stored = storedOrThrow(await this.admission.accept(row, command.isCallerGone));
      this.recent.store(identity, stored.id);
      if (stored.kind === 'replay') return { row: await this.read(identity, stored.id), replayed: true };
      this.lanes.ring(row.deviceId, row.id);
      command.onStored?.();
      await waiter.settledWithin(command.waitSeconds);
      // There was no wait, so nothing can have happened that the answer should show: no need to read it back.
      const { createdAt } = stored;
      const isUnread = command.waitSeconds === 0 && createdAt !== null;
      return {
        row: isUnread ? acceptedRow({ ...row, refundOf: null }, createdAt) : await this.read(identity, row.id),
        replayed: false,
      };
    } finally {
      waiter.forget();
    }
  }

  private async read({ merchantId }: StoredIdentity, id: string): Promise<ReceiptRow> {
    const row = await this.receipts.find(merchantId, id);
    if (!row) throw await this.receipts.gone(merchantId, id);
    return row;
  }

  /** Only what is certain; everything else is found out by the unique indexes, after the rules. */
  private async findRepeated(identity: StoredIdentity): Promise<CreatedReceipt | null> {
    const id = this.recent.recall(identity);
    const row = id === undefined ? null : await this.receipts.findMadeBy(identity, id);
    return row && { row, replayed: true };
  }

  private async findReplay(identity: StoredIdentity): Promise<CreatedReceipt | null> {
    if (identity.idempotencyKey === null && identity.externalId === null) return null;
    const stored = await this.receipts.findIdentities([identity]);
    if (stored.length === 0) return null;
    const { id } = storedOrThrow(judgeConflict(identity, stored));
    return { row: await this.read(identity, id), replayed: true };
  }
}

/** Who asks for what: the same for a receipt whose money has been taken and for one that the gateway is to collect. */
export function identityOf(
  { merchantId, clientId, idempotencyKey, body }: CreateReceiptCommand,
  operation: string = OPERATION,
): StoredIdentity {
  return {
    id: newIdOf('rcp', merchantId),
    merchantId,
    clientId,
    operation,
    idempotencyKey,
    externalId: body.external_id ?? null,
    bodyHash: sha256(canonicalJson(body)),
  };
}

export function storedOrThrow(acceptance: Acceptance): Extract<Acceptance, { kind: 'accepted' | 'replay' }> {
  switch (acceptance.kind) {
    case 'accepted':
    case 'replay':
      return acceptance;
    case 'mismatch':
      throw new Problem('idempotency_mismatch', acceptance.detail);
    case 'in_flight':
      throw new Problem('idempotency_in_progress', 'The same request is still being written; ask again shortly.');
  }
}

export function newReceipt<Device extends string | null>(
  identity: StoredIdentity,
  route: Pick<Route, 'branchId' | 'cashierId'> & { deviceId: Device },
  document: StoredReceiptDocument,
): NewReceipt<Device> {
  return {
    id: identity.id,
    eventId: newReceiptEventId(identity.id),
    merchantId: identity.merchantId,
    clientId: identity.clientId,
    operation: identity.operation,
    idempotencyKey: identity.idempotencyKey,
    externalId: identity.externalId,
    bodyHash: identity.bodyHash,
    type: document.type,
    deviceId: route.deviceId,
    branchId: route.branchId,
    cashierId: route.cashierId,
    document,
    traceParent: sampledTraceParent(),
  };
}
