import { Injectable } from '@nestjs/common';
import { paymeError, readPaymeFiscal, type PaymeCommand, type PaymeError, type WireObject } from '#payments';
import { ComparePayments } from '../compare-payments.js';
import { PaymentWorker } from '../payment-worker.js';
import { followHint } from './follow-call.js';
import { InboundRepository } from './inbound.repository.js';
import type { ProviderRequest } from './provider-protocol.js';
import { keepDocument, noteHint } from '../repository/payment-writes.js';

type SetFiscalData = Extract<PaymeCommand, { method: 'SetFiscalData' }>;

/**
 * Payme reports a document that it had registered, sale and refund each for itself, as often as it likes. Where it was
 * asked to, the document becomes the receipt's. Where our own register sells, a document of Payme's beside it is a sale that was
 * registered twice: people have to see it.
 */
@Injectable()
export class PaymeFiscalData {
  constructor(
    private readonly rows: InboundRepository,
    private readonly worker: PaymentWorker,
    private readonly comparing: ComparePayments,
  ) {}

  async keep(
    { account, address, request: { body } }: ProviderRequest,
    { id, type, fiscalData: data }: SetFiscalData,
  ): Promise<{ result: WireObject } | { error: PaymeError }> {
    const report = readPaymeFiscal(data);
    const kept = await this.rows.inTransaction(async (tx) => {
      const payment = await this.rows.storeFiscalData(tx, { accountId: account.id, id }, { type, data });
      if (!payment) return null;
      await this.rows.keep(tx, {
        ...{ accountId: account.id, address, body, answer: { kind: report.kind }, operation: 'SetFiscalData' },
        ...{ providerRef: id, paymentId: payment.id, amountTiyin: null },
      });
      if (payment.fiscal_mode === 'provider') {
        if (report.kind === 'document')
          await keepDocument(tx, payment.id, type === 'PERFORM' ? 'sale' : 'refund', report.document);
        if (report.kind === 'refused') await this.rows.noteDifference(tx, payment.id, { fiscal_data: report.detail });
      } else if (
        report.kind === 'document' &&
        type === 'PERFORM' &&
        report.document.fiscalSign !== payment.fiscal_sign
      ) {
        await this.rows.noteDifference(tx, payment.id, { registered_by_provider_too: report.document });
      }
      // The refund of money that we have not given back, and that no call of Payme's has moved.
      const isHint = report.kind === 'document' && type === 'CANCEL' && payment.state === 'captured';
      if (isHint) await noteHint(tx, payment.id);
      return { id: payment.id, isHint };
    });
    if (kept === null) return { error: paymeError('fiscalReceipt') };
    if (report.kind === 'unreadable') return { error: paymeError('params', report.field) };
    if (kept.isHint) followHint(this.comparing, this.worker, kept.id);
    else this.worker.schedule(kept.id);
    return { result: { success: true } };
  }
}
