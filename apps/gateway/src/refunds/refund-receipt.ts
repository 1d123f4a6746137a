import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { PrismaService, REFUND_OPERATION, type Prisma } from '#database';
import { canonicalJson, isDatabaseUnavailable, newId, Problem, sha256 } from '#runtime';
import { sqlStateOf } from '../audit/audited-change.js';
import { GoodsCatalog, type ClassifiedGoods } from '../catalog/goods-catalog.js';
import { judgeConflict } from '../receipts/accept-receipts.js';
import { ReceiptRepository, type ReceiptRow, type StoredIdentity } from '../receipts/receipt.repository.js';
import { ReceiptWait } from '../receipts/receipt-wait.js';
import { composeRefund, refundViolations } from './compose-refund.js';
import { OneAtATime } from './one-at-a-time.js';
import type { RefundBody } from './refund-body.js';
import { REFUND_HOOKS, type RefundHook } from './refund-hook.js';
import { RefundRepository, type NewRefund, type SellingDevice } from './refund.repository.js';
import { refundInfoOf } from './refundable-sale.js';

export interface RefundCommand {
  merchantId: string;
  clientId: string;
  saleId: string;
  idempotencyKey: string | null;
  body: RefundBody;
  /** How long the caller wants to wait for the register; 0 = not at all. */
  waitSeconds: number;
}

export interface CreatedRefund {
  row: ReceiptRow;
  replayed: boolean;
}

type Stored = { kind: 'accepted'; deviceId: string } | { kind: 'replay'; id: string };

/** What is read before the transaction: it never changes, or does so by hand. */
interface Around {
  sale: ReceiptRow;
  goods: ReadonlyMap<string, ClassifiedGoods>;
  device: SellingDevice | null;
}

const TRANSACTION_TIMEOUT_MS = 10_000;
const MAX_WAIT_MS = 5_000;
/** Before a refund whose connection died is written again with the same id. */
const RECONNECT_PAUSE_MS = 150;
/** SQLSTATE: lock_timeout ran out; deadlock, this side was rolled back. */
const BUSY = new Set(['55P03', '40P01']);

/**
 * POST /v1/receipts/{id}/refunds: lock the sale → what is left → write → ring → wait (docs/refunds.md).
 *
 * Who holds the sale's row is the only one who refunds anything of it, so that what is left cannot change between being
 * read and being taken. Crash windows: before the commit nothing has happened; after it the lane finds the row, as it finds a
 * sale. When the connection dies around the COMMIT, the refund is written once more under the same id: the row's lock puts
 * that after the first try's end, and an earlier commit is recognised by its id.
 */
@Injectable()
export class RefundReceipt {
  private readonly turns = new OneAtATime();

  constructor(
    private readonly prisma: PrismaService,
    private readonly refunds: RefundRepository,
    private readonly receipts: ReceiptRepository,
    private readonly catalog: GoodsCatalog,
    private readonly wait: ReceiptWait,
    @Inject(REFUND_HOOKS) private readonly hooks: readonly RefundHook[],
  ) {}

  /** @throws Problem 404; 409 (not refundable, nothing left, same key being written); 422 (more than is left, rules); 503 */
  async execute(command: RefundCommand): Promise<CreatedRefund> {
    const { merchantId, saleId, waitSeconds } = command;
    const sale = await this.receipts.find(merchantId, saleId);
    if (!sale) throw new Problem('not_found', 'There is no receipt with this id.');
    const identity = identityOf(command);
    const stored = await this.wait.forReceipt(identity.id, waitSeconds, () =>
      this.turns.run(saleId, () => this.store(command, identity, sale)),
    );
    const id = stored.kind === 'replay' ? stored.id : identity.id;
    const row = await this.receipts.find(merchantId, id);
    if (!row) throw new Error(`Refund ${id} was stored and cannot be read`);
    return { row, replayed: stored.kind === 'replay' };
  }

  private async store(command: RefundCommand, identity: StoredIdentity, sale: ReceiptRow): Promise<Stored> {
    const goods = await this.catalog.findGoods(sale.document.lines.map(({ spic }) => spic));
    const place = { deviceId: sale.device_id, terminalId: sale.terminal_id };
    const device = await this.refunds.findSellingDevice(command.merchantId, place);
    const around = { sale, goods, device };
    try {
      return await this.write(command, identity, around).catch(async (error: unknown) => {
        if (!isDatabaseUnavailable(error)) throw error;
        // The COMMIT may have arrived. Ask once more before 503 is said of a row that may be on disk.
        await delay(RECONNECT_PAUSE_MS);
        return this.write(command, identity, around);
      });
    } catch (error) {
      if (error instanceof KeyTaken) return this.judgeTaken(identity, around);
      if (!BUSY.has(sqlStateOf(error) ?? '')) throw error;
      const detail = 'Another refund of this receipt is being written; nothing was stored.';
      throw new Problem('service_unavailable', detail, { cause: error });
    }
  }

  private write(command: RefundCommand, identity: StoredIdentity, around: Around): Promise<Stored> {
    return this.prisma.$transaction((tx) => this.writeLocked(tx, command, { identity, around }), {
      timeout: TRANSACTION_TIMEOUT_MS,
      maxWait: MAX_WAIT_MS,
      isolationLevel: 'ReadCommitted',
    });
  }

  private async writeLocked(
    tx: Prisma.TransactionClient,
    { body }: RefundCommand,
    { identity, around }: { identity: StoredIdentity; around: Around },
  ): Promise<Stored> {
    const locked = await this.refunds.lockSale(tx, around.sale.id);
    if (!locked) throw new Problem('not_found', 'There is no receipt with this id.');
    // A replay is never refused by a rule that may have changed since: the key is looked up first.
    const known = judge(identity, await this.receipts.findIdentities([identity], tx), around);
    if (known) return known;
    const refundInfo = refundInfoOf(locked);
    const sale = around.sale.document;
    const ledger = await this.refunds.ledgerOf(tx, around.sale.id);
    const composed = composeRefund({ sale, refundInfo, ledger, body });
    if (composed.kind === 'nothing_left') throw new Problem('nothing_left', 'Everything has been refunded.');
    if (composed.kind === 'refused') throw Problem.fromErrors(composed.faults);
    const device = openDevice(around.device);
    const { document } = composed;
    const register = { goods: (spic: string) => around.goods.get(spic), vatRule: device.vatRule };
    const violations = refundViolations(document, register, body);
    if (violations.length > 0) throw Problem.fromErrors(violations);
    const refund: NewRefund = { ...identity, saleId: around.sale.id, deviceId: device.deviceId, document };
    if (!(await this.refunds.insert(tx, refund))) throw new KeyTaken();
    const { id, merchantId } = identity;
    const accepted = { id, merchantId, saleId: around.sale.id, salePaymentId: around.sale.payment_id, document };
    for (const hook of this.hooks) await hook.onAccepted(tx, accepted);
    return { kind: 'accepted', deviceId: device.deviceId };
  }

  /** Somebody who does not hold this sale's row has the key or the external id: another receipt. */
  private async judgeTaken(identity: StoredIdentity, around: Around): Promise<Stored> {
    const known = judge(identity, await this.receipts.findIdentities([identity]), around);
    if (known) return known;
    throw new Problem('idempotency_in_progress', 'The same request is still being written; ask again shortly.');
  }
}

/** The transaction ends here, and nothing of it stays. */
class KeyTaken extends Error {}

function judge(identity: StoredIdentity, stored: readonly StoredIdentity[], { sale, device }: Around): Stored | null {
  if (stored.length === 0) return null;
  const judged = judgeConflict(identity, stored);
  switch (judged.kind) {
    case 'accepted':
      return { kind: 'accepted', deviceId: device?.deviceId ?? sale.device_id ?? '' };
    case 'replay':
      return judged;
    case 'mismatch':
      throw new Problem('idempotency_mismatch', judged.detail);
    case 'in_flight':
      return null;
  }
}

/** @throws Problem 409 when the terminal is gone, 503 while its register takes nothing */
function openDevice(device: SellingDevice | null): SellingDevice {
  if (device === null) {
    const detail = 'The fiscal module that sold is no longer at work here, and only it can refund the sale.';
    throw new Problem('terminal_gone', detail);
  }
  if (device.isClosed) throw new Problem('no_device', 'The register that sold takes no receipts at present.');
  return device;
}

/** The sale is part of what is asked for: the same key with the same body on another sale is another request. */
function identityOf({ merchantId, clientId, saleId, idempotencyKey, body }: RefundCommand): StoredIdentity {
  return {
    id: newId('rcp'),
    merchantId,
    clientId,
    operation: REFUND_OPERATION,
    idempotencyKey,
    externalId: body.external_id ?? null,
    bodyHash: sha256(canonicalJson({ refund_of: saleId, ...body })),
  };
}
