import { Injectable } from '@nestjs/common';
import { SURPLUS_OPERATION, WITHDRAWAL_OPERATION, type Prisma } from '#database';
import { allThatIsLeft, leftOf, parseVerificationLink } from '#fiscal-domain';
import { findDocument, insertRefund } from '#ledger';
import { canonicalJson, newIdOf, sha256 } from '#runtime';
import { RefundRepository } from './refund.repository.js';
import { refundTime } from './refundable-sale.js';

export interface DuplicateRegistration {
  merchantId: string;
  /** The client that decided. */
  actor: string;
  /** It is taken back once under it. */
  key: string;
  receiptId: string;
  /** The document that is one too many. */
  terminalId: string;
  receiptSeq: number;
  /** Null with an advance or credit. */
  fiscalSign: string | null;
  verificationUrl: string | null;
  /** Beside the registration that stands; false: it is the only one, and should not have been made at all. */
  isSurplus: boolean;
}

/**
 * Takes back a registration that an operator calls one too many: the whole receipt, at the module that has it. No money moves
 * and no hook is called: the customer paid once. A surplus document is outside of the ledger, its sale stays sold and can be
 * refunded like any other; where the only registration is taken back, nothing of the sale is left.
 * Written in the transaction of the decision: both happen or neither does.
 */
@Injectable()
export class RefundDuplicate {
  constructor(private readonly refunds: RefundRepository) {}

  /**
   * @returns the refund and its lane; null where none is possible: an advance or credit has no sign to be named by, a refund
   * is not refunded, and where the module is gone its document cannot be taken back
   */
  async execute(
    tx: Prisma.TransactionClient,
    one: DuplicateRegistration,
  ): Promise<{ id: string; deviceId: string } | null> {
    const { terminalId, receiptSeq, fiscalSign, verificationUrl } = one;
    const link = verificationUrl === null ? null : parseVerificationLink(verificationUrl);
    if (fiscalSign === null || link === null) return null;
    const receipt = await findDocument(tx, one.receiptId);
    if (receipt?.type !== 'sale') return null;
    const device = await this.refunds.findDeviceOf(one.merchantId, terminalId, tx);
    if (device === null) return null;
    // What a register no longer takes must not keep a document there that is one too many.
    const { requiredFields: _required, notify, ...document } = receipt.document;
    // The purchase of a surplus document stands: its buyer, to whom nothing goes back, gets no message of a refund.
    const messages = !one.isSurplus && notify ? { notify } : {};
    const id = newIdOf('rcp', one.merchantId);
    const dateTime = refundTime(link.compactTime);
    const createdAt = await insertRefund(tx, {
      ...{ id, merchantId: one.merchantId, clientId: one.actor, saleId: one.receiptId, deviceId: device.deviceId },
      operation: one.isSurplus ? SURPLUS_OPERATION : WITHDRAWAL_OPERATION,
      idempotencyKey: one.key,
      externalId: null,
      bodyHash: sha256(canonicalJson({ attempt_id: one.key })),
      document: {
        ...document,
        ...messages,
        type: 'refund',
        lines: allThatIsLeft(document.lines, leftOf(document.lines, [])),
        refundInfo: { terminalId, receiptSeq, dateTime, fiscalSign },
        metadata: null,
      },
    });
    return createdAt ? { id, deviceId: device.deviceId } : null;
  }
}
