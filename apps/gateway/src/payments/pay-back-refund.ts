import type { Prisma } from '#database';
import type { PaymentFlow, PaymentState, ProviderCode } from '#payments';
import { Problem } from '#runtime';
import type { AcceptedRefund, RefundHook } from '../refunds/refund-hook.js';
import { CAPABILITIES } from './provider-clients.js';

interface PaidSale {
  id: string;
  provider: ProviderCode;
  flow: PaymentFlow;
  state: PaymentState;
  amount_tiyin: bigint;
}

const ON_ITS_WAY: ReadonlySet<PaymentState> = new Set(['authorized', 'capturing', 'capture_unknown']);
const TAKEN: ReadonlySet<PaymentState> = new Set(['captured', 'refunding', 'refund_unknown', 'manual']);

/**
 * With a refund of a sale whose money the gateway collected, the money's way back is written down: it is asked of the provider
 * once the refund's receipt is registered. The refund of a receipt whose money is gone already moves none.
 */
export class PayBackRefund implements RefundHook {
  /** @throws Problem 409 payment_not_settled, refund_by_provider; 422 partial_refund_unsupported */
  async onAccepted(tx: Prisma.TransactionClient, refund: AcceptedRefund): Promise<void> {
    if (refund.salePaymentId === null) return;
    const [payment] = await tx.$queryRaw<PaidSale[]>`
      SELECT id, provider, flow, state, amount_tiyin FROM payments WHERE id = ${refund.salePaymentId} FOR UPDATE`;
    if (!payment) throw new Error(`payment ${refund.salePaymentId} of a sale is missing`);
    if (ON_ITS_WAY.has(payment.state)) throw new Problem('payment_not_settled');
    if (!TAKEN.has(payment.state)) return;
    const amountTiyin = refund.document.totalTiyin;
    refuseUnlessPossible(payment, amountTiyin);
    await tx.$executeRaw`
      INSERT INTO payment_refunds (payment_id, receipt_id, amount_tiyin, state, reason)
      VALUES (${payment.id}, ${refund.id}, ${amountTiyin}::bigint, 'waiting', 'refund of the receipt')`;
  }
}

function refuseUnlessPossible({ provider, flow, amount_tiyin: paid }: PaidSale, amountTiyin: number): void {
  const { refundInitiator, partialRefund } = CAPABILITIES[provider];
  if (refundInitiator[flow] === 'provider') {
    const detail = `Refund it in ${provider}'s own cabinet: the receipt is refunded when ${provider} tells of it.`;
    throw new Problem('refund_by_provider', detail);
  }
  if (!partialRefund && BigInt(amountTiyin) !== paid) {
    throw new Problem('partial_refund_unsupported', `${provider} gives back the whole sum of a payment or nothing.`);
  }
}
