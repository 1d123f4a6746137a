import { Injectable } from '@nestjs/common';
import { paymeError, readPaymeFiscal, type PaymeCommand, type PaymeError, type WireObject } from '#payments';
import type { OpenAccount } from '../accounts/account-settings.js';
import { PaymentWorker } from '../payment-worker.js';
import { InboundRepository } from './inbound.repository.js';

interface Told {
  account: Pick<OpenAccount, 'id'>;
  address: string;
  body: string;
}

type SetFiscalData = Extract<PaymeCommand, { method: 'SetFiscalData' }>;

/**
 * Payme tells of a document that it had registered, sale and refund each for itself, as often as it likes. Where it was
 * asked to, the document becomes the receipt's. Where our own register sells, a document of Payme's beside it is a sale that was
 * registered twice: people have to see it.
 */
@Injectable()
export class PaymeFiscalData {
  constructor(
    private readonly rows: InboundRepository,
    private readonly worker: PaymentWorker,
  ) {}

  async keep(
    { account, address, body }: Told,
    { id, type, fiscalData: data }: SetFiscalData,
  ): Promise<{ result: WireObject } | { error: PaymeError }> {
    const told = readPaymeFiscal(data);
    const paymentId = await this.rows.inTransaction(async (tx) => {
      const payment = await this.rows.storeFiscalData(tx, { accountId: account.id, id }, { type, data });
      if (!payment) return null;
      await this.rows.keep(tx, {
        ...{ accountId: account.id, address, body, answer: { kind: told.kind }, operation: 'SetFiscalData' },
        ...{ providerRef: id, paymentId: payment.id, amountTiyin: null },
      });
      if (payment.fiscal_mode === 'provider') {
        if (told.kind === 'document')
          await this.rows.keepDocument(tx, payment.id, type === 'PERFORM' ? 'sale' : 'refund', told.document);
        if (told.kind === 'refused') await this.rows.noteDifference(tx, payment.id, { fiscal_data: told.detail });
      } else if (told.kind === 'document' && type === 'PERFORM' && told.document.fiscalSign !== payment.fiscal_sign) {
        await this.rows.noteDifference(tx, payment.id, { registered_by_provider_too: told.document });
      }
      return payment.id;
    });
    if (paymentId === null) return { error: paymeError('fiscalReceipt') };
    if (told.kind === 'unreadable') return { error: paymeError('params', told.field) };
    this.worker.schedule(paymentId);
    return { result: { success: true } };
  }
}
