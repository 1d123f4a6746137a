import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { SalesDatabase, REFUND_OPERATION, type Prisma } from '#database';
import { insertRefund, refundsOf, type NewRefund, type ReceiptRow, type StoredIdentity } from '#ledger';
import { Problem } from '#problems';
import { canonicalJson, isDatabaseBusy, isDatabaseUnavailable, newIdOf, sampledTraceParent, sha256 } from '#runtime';
import { MerchantUsage } from '../../fleet/usage/merchant-usage.js';
import { GoodsCatalog, type ClassifiedGoods } from '../../goods/catalog/goods-catalog.js';
import { callerGone, type IsCallerGone } from '../../http/caller-gone.js';
import { CALLBACK_SECRET_MISSING } from '../callback-fault.js';
import { acceptedRow } from '../accepted-row.js';
import { judgeConflict } from '../accept-receipts.js';
import { missingReceipt, refundArchived } from '../missing-receipt.js';
import { isLost, outcomeUnclear } from '../outcome-unclear.js';
import { sandboxFaults } from '../prepare-receipt.js';
import { ReceiptRepository } from '../receipt.repository.js';
import { ReceiptWait } from '../receipt-wait.js';
import type { PayBack } from './accepted-refund.js';
import { composeRefund, lostByRegister, refundViolations } from './compose-refund.js';
import { OneAtATime } from './one-at-a-time.js';
import type { RefundBody } from './refund-body.js';
import { RefundRepository, type SellingDevice } from './refund.repository.js';
import { refundInfoOf } from './refundable-sale.js';
import { isGiven } from '../../http/given.js';

export interface RefundCommand {
  merchantId: string;
  clientId: string;
  saleId: string;
  idempotencyKey: string | null;
  body: RefundBody;
  /** How long the caller wants to wait for the register; 0 = not at all. */
  waitSeconds: number;
  /** Absent where a program of ours asks. */
  isCallerGone?: IsCallerGone;
  payBack: PayBack;
}

export interface CreatedRefund {
  row: ReceiptRow;
  replayed: boolean;
}

type Stored =
  /** `row` as the commit left it; null where that must be read. */
  { kind: 'accepted'; deviceId: string | null; row: ReceiptRow | null } | { kind: 'replay'; id: string };

/** What is read before the transaction: it never changes, or does so by hand. */
interface Around {
  sale: ReceiptRow;
  goods: ReadonlyMap<string, ClassifiedGoods>;
  device: SellingDevice | null;
}

const TRANSACTION_TIMEOUT_MS = 10_000;
/** Before a refund whose connection died is written again with the same id. */
const RECONNECT_PAUSE_MS = 150;

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
    private readonly prisma: SalesDatabase,
    private readonly refunds: RefundRepository,
    private readonly receipts: ReceiptRepository,
    private readonly catalog: GoodsCatalog,
    private readonly wait: ReceiptWait,
    private readonly usage: MerchantUsage,
  ) {}

  /** @throws Problem 404; 410 (left for an archive); 409 (not refundable, nothing left, same key being written); 422 (more than is left, rules); 503 */
  async execute(command: RefundCommand): Promise<CreatedRefund> {
    const { merchantId, saleId, waitSeconds } = command;
    const [sale, device] = await Promise.all([
      this.receipts.find(merchantId, saleId),
      this.refunds.findDeviceOfSale(merchantId, saleId),
    ]);
    if (!sale) throw await this.receipts.missing(merchantId, saleId);
    const goods = await this.catalog.findGoods(sale.document.lines.map(({ spic }) => spic));
    const around = { sale, goods, device };
    const identity = identityOf(command);
    const stored = await this.wait.forReceipt(identity.id, waitSeconds, () =>
      this.turns.run(saleId, () => this.store(command, identity, around)),
    );
    if (stored.kind === 'replay') return { row: await this.read(merchantId, stored.id), replayed: true };
    // Counted, and never refused: money that is owed goes back.
    this.usage.count(merchantId, Buffer.byteLength(JSON.stringify(sale.document)));
    // There was no wait, so nothing can have happened that the answer should show: no need to read it back.
    const row = waitSeconds === 0 ? stored.row : null;
    return { row: row ?? (await this.read(merchantId, identity.id)), replayed: false };
  }

  private async read(merchantId: string, id: string): Promise<ReceiptRow> {
    const row = await this.receipts.find(merchantId, id);
    if (!row) throw await this.receipts.gone(merchantId, id);
    return row;
  }

  private async store(command: RefundCommand, identity: StoredIdentity, around: Around): Promise<Stored> {
    let mayBeStored = false;
    try {
      return await this.write(command, identity, around).catch(async (error: unknown) => {
        if (!isDatabaseUnavailable(error)) throw error;
        // The COMMIT may have arrived. Ask once more before 503 is said of a row that may be on disk.
        mayBeStored = isLost(error);
        await delay(RECONNECT_PAUSE_MS);
        return this.write(command, identity, around);
      });
    } catch (error) {
      const isUndecided = isDatabaseUnavailable(error) || isDatabaseBusy(error);
      if (isLost(error) || (mayBeStored && isUndecided)) throw outcomeUnclear(error);
      if (isDatabaseUnavailable(error)) throw error;
      // A replay is never refused by a rule that may have changed since: what is stored decides before what was found wrong.
      const known = await this.findKnown(identity, around);
      if (known) return known;
      throw refusalOf(error);
    }
  }

  private async write(command: RefundCommand, identity: StoredIdentity, around: Around): Promise<Stored> {
    if (command.isCallerGone?.() === true) throw callerGone();
    return this.prisma.$transaction((tx) => this.writeLocked(tx, command, { identity, around }), {
      timeout: TRANSACTION_TIMEOUT_MS,
      isolationLevel: 'ReadCommitted',
    });
  }

  private async writeLocked(
    tx: Prisma.TransactionClient,
    { body, payBack }: RefundCommand,
    { identity, around }: { identity: StoredIdentity; around: Around },
  ): Promise<Stored> {
    const { sale } = around;
    const locked = await this.refunds.lockSale(tx, sale.id);
    if (!locked) throw await missingReceipt(tx, identity.merchantId, sale.id);
    const refundInfo = refundInfoOf(locked);
    const faults = sandboxFaults(identity.merchantId, body.metadata);
    if (isGiven(body.callback_url) && !locked.has_callback_secret) faults.push(CALLBACK_SECRET_MISSING);
    if (faults.length > 0) throw Problem.fromErrors(faults);
    const { documents: ledger, archive } = await refundsOf(tx, sale.id);
    if (archive !== null) throw refundArchived(archive);
    const { recorded_fields: recordedFields, omits_fields: omits } = locked;
    const composed = composeRefund({
      ...{ sale: sale.document, refundInfo, ledger, body },
      ...{ recordedFields: recordedFields ?? [], areRequired: !omits },
    });
    if (composed.kind === 'nothing_left')
      throw new Problem('nothing_left', 'Everything has been refunded; nothing is left.');
    if (composed.kind === 'refused') throw Problem.fromErrors(composed.faults);
    const { document } = composed;
    const device = isRegisteredByProvider(sale) ? null : openDevice(around.device);
    if (device) {
      const { vatRule } = device;
      const violations = refundViolations(document, { goods: (spic) => around.goods.get(spic), vatRule }, body);
      violations.push(...lostByRegister(document, device.takesFields));
      if (violations.length > 0) throw Problem.fromErrors(violations);
    }
    const made = { saleId: sale.id, deviceId: device?.deviceId ?? null, document, traceParent: sampledTraceParent() };
    const refund: NewRefund = { ...identity, ...made };
    const createdAt = await insertRefund(tx, refund);
    if (!createdAt) throw new KeyTaken();
    const { id, merchantId } = identity;
    const accepted = { id, merchantId, saleId: sale.id, salePaymentId: sale.payment_id, document };
    await payBack(tx, accepted);
    const place = { branchId: sale.branch_id, cashierId: sale.cashier_id, refundOf: sale.id };
    // Money on its way back may have written to the row.
    const { deviceId } = refund;
    const isUntouched = sale.payment_id === null && deviceId !== null;
    const row = isUntouched ? acceptedRow({ ...refund, deviceId, ...place }, createdAt) : null;
    return { kind: 'accepted', deviceId, row };
  }

  /** The refund that this request made before, be it a moment ago over a connection that died. */
  private async findKnown(identity: StoredIdentity, { sale, device }: Around): Promise<Stored | null> {
    const stored = await this.receipts.findIdentities([identity]);
    if (stored.length === 0) return null;
    const judged = judgeConflict(identity, stored);
    switch (judged.kind) {
      case 'accepted':
        return { kind: 'accepted', deviceId: device?.deviceId ?? sale.device_id, row: null };
      case 'replay':
        return judged;
      case 'mismatch':
        throw new Problem('idempotency_mismatch', judged.detail);
      case 'in_flight':
        return null;
    }
  }
}

/** The transaction ends here, and nothing of it stays. */
class KeyTaken extends Error {}

function refusalOf(error: unknown): unknown {
  if (error instanceof KeyTaken) {
    // Its holder has not committed yet, or has just rolled back.
    return new Problem('idempotency_in_progress', 'The same request is still being written; ask again shortly.');
  }
  if (!isDatabaseBusy(error)) return error;
  const detail = 'Another refund of this receipt is being written; nothing was stored.';
  return new Problem('service_unavailable', detail, { cause: error });
}

/** No device of ours had the sale: its payment provider did, and refunds it as well. */
function isRegisteredByProvider({ payment_id: paymentId, device_id: deviceId }: ReceiptRow): boolean {
  return paymentId !== null && deviceId === null;
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
    id: newIdOf('rcp', merchantId),
    merchantId,
    clientId,
    operation: REFUND_OPERATION,
    idempotencyKey,
    externalId: body.external_id ?? null,
    bodyHash: sha256(canonicalJson({ refund_of: saleId, ...body })),
  };
}
