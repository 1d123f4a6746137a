import { Injectable } from '@nestjs/common';
import {
  FROM_COPY,
  isUniqueViolation,
  Prisma,
  RECEIPT_SETTLED_CHANNEL,
  SalesDatabase,
  UNPROVEN_ATTEMPT,
} from '#database';
import { parseTashkentCompact, type LocalExtraInfo } from '#fiscal-domain';
import type { ProviderDocument } from '#payments';
import { newId } from '#runtime';

type Tx = Prisma.TransactionClient;

/** What its lane has to know of a receipt whose money is there. */
export interface Released {
  /** The hold ends: later it must not be sent. */
  dispatchBefore: Date | null;
  extraInfo: LocalExtraInfo | null;
}

/**
 * The receipt's side of a payment. Whoever locks both takes the receipt first: the trigger that wakes a payment runs with the
 * receipt's row in hand.
 */
@Injectable()
export class ReceiptMoves {
  constructor(private readonly prisma: SalesDatabase) {}

  /** awaiting_payment → accepted, with a place in its lane from this moment. @returns whether this call did it */
  async release(tx: Tx, receiptId: string, released: Released): Promise<boolean> {
    return (await tx.$queryRaw<unknown[]>(releasing(receiptId, released))).length === 1;
  }

  /** Never sent: it can end here, in the transaction that ends its payment. @returns whether this call did it */
  async cancel(tx: Tx, receiptId: string, reason: string): Promise<boolean> {
    return (await tx.$queryRaw<unknown[]>(cancelling(receiptId, reason))).length === 1;
  }

  /**
   * awaiting_payment → registered by the provider's own document: of the sale, or of the refund that waits for it. Such a receipt
   * belongs to no device, so no lane can have it. `taken`: another receipt is this very document.
   */
  async registerByProvider(
    saleId: string,
    which: 'sale' | 'refund',
    document: ProviderDocument,
  ): Promise<{ kind: 'registered' | 'taken' | 'unchanged' }> {
    try {
      const ids = await this.prisma.$transaction((tx) => this.registerNow(tx, saleId, which, document));
      for (const id of ids) await this.notify(id);
      return { kind: ids.length > 0 ? 'registered' : 'unchanged' };
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      return { kind: 'taken' };
    }
  }

  private async registerNow(
    tx: Tx,
    saleId: string,
    which: 'sale' | 'refund',
    document: ProviderDocument,
  ): Promise<string[]> {
    const { terminalId, receiptSeq, fiscalSign, url, compactTime } = document;
    const registeredAt = new Date(parseTashkentCompact(compactTime) ?? Date.now());
    const row = which === 'sale' ? Prisma.sql`id = ${saleId}` : Prisma.sql`refund_of = ${saleId} AND type = 'refund'`;
    const moved = await tx.$queryRaw<{ id: string; merchant_id: string }[]>`
      UPDATE receipts SET status = 'registered', terminal_id = ${terminalId}, receipt_seq = ${receiptSeq}::bigint,
             fiscal_sign = ${fiscalSign}, verification_url = ${url}, registered_at = ${registeredAt}::timestamptz,
             evidence = 'answer', updated_at = now(),
             -- Lines that do not fit the provider's form were refused; it registers no buyer and no wallet.
             recorded_fields = CASE WHEN type = 'sale' AND jsonb_path_exists(document, '$.lines[*].commission.*')
                                    THEN ARRAY['commission'] ELSE '{}' END
       WHERE ${row} AND status::text = 'awaiting_payment' AND device_id IS NULL RETURNING id, merchant_id`;
    for (const { id, merchant_id: merchantId } of moved) {
      const data = { receipt_id: id, terminal_id: terminalId, receipt_seq: receiptSeq, fiscal_sign: fiscalSign };
      await tx.$executeRaw`
        INSERT INTO events (id, merchant_id, type, subject_id, data)
        VALUES (${newId('evt')}, ${merchantId}, ${which === 'sale' ? 'receipt.registered' : 'refund.registered'}, ${id},
                ${JSON.stringify({ ...data, evidence: 'answer' })}::jsonb)`;
    }
    return moved.map(({ id }) => id);
  }

  async releaseNow(receiptId: string, released: Released): Promise<boolean> {
    return (await this.prisma.queryHot(releasing(receiptId, released))).length === 1;
  }

  async cancelNow(receiptId: string, reason: string): Promise<boolean> {
    const isCancelled = (await this.prisma.queryHot(cancelling(receiptId, reason))).length === 1;
    // Whoever waits for this receipt need not wait longer; a lost notice costs him his deadline.
    if (isCancelled) await this.notify(receiptId);
    return isCancelled;
  }

  private async notify(receiptId: string): Promise<void> {
    await this.prisma.$queryRaw`SELECT pg_notify(${RECEIPT_SETTLED_CHANNEL}, ${receiptId})::text`;
  }
}

function releasing(receiptId: string, { dispatchBefore, extraInfo }: Released): Prisma.Sql {
  const moved = Prisma.sql`
    UPDATE receipts SET status = 'accepted', lane_place = nextval('lane_place_seq'), updated_at = now(),
                        dispatch_before = ${dispatchBefore}::timestamptz,
                        extra_info = ${extraInfo && JSON.stringify(extraInfo)}::jsonb
     WHERE id = ${receiptId} AND status::text = 'awaiting_payment' AND device_id IS NOT NULL RETURNING id, merchant_id`;
  return told(moved, 'receipt.accepted', { receipt_id: receiptId });
}

function cancelling(receiptId: string, reason: string): Prisma.Sql {
  const moved = Prisma.sql`
    UPDATE receipts r SET status = 'cancelled', updated_at = now()
     WHERE id = ${receiptId} AND (status::text = 'awaiting_payment' OR (status::text = 'accepted' AND NOT EXISTS (
             SELECT FROM attempts a WHERE a.receipt_id = r.id AND ${UNPROVEN_ATTEMPT}) AND NOT ${FROM_COPY}))
    RETURNING id, merchant_id`;
  return told(moved, 'receipt.cancelled', { receipt_id: receiptId, reason });
}

/** The move and its event as one statement. */
function told(moved: Prisma.Sql, type: string, data: Record<string, unknown>): Prisma.Sql {
  return Prisma.sql`
    WITH moved AS (${moved}), told AS (
      INSERT INTO events (id, merchant_id, type, subject_id, data)
      SELECT ${newId('evt')}, merchant_id, ${type}, id, ${JSON.stringify(data)}::jsonb FROM moved
    )
    SELECT id FROM moved`;
}
