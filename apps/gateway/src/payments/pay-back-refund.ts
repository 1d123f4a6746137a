import type { Prisma } from '#database';
import type { PaymentFlow, PaymentState, ProviderCode } from '#payments';
import { Problem } from '#problems';
import type { AcceptedRefund } from '../receipts/refunds/accepted-refund.js';
import { askMoneyBack, makeDue } from './repository/payment-writes.js';
import { capabilitiesOf } from './provider-clients.js';

interface PaidSale {
  id: string;
  provider: ProviderCode;
  flow: PaymentFlow;
  state: PaymentState;
  amount_tiyin: bigint;
  values: Record<string, string>;
  merchantId: string;
  fiscal_mode: 'gateway' | 'provider';
}

const ON_ITS_WAY: ReadonlySet<PaymentState> = new Set(['authorized', 'capturing', 'capture_unknown']);
const TAKEN: ReadonlySet<PaymentState> = new Set(['captured', 'refunding', 'refund_unknown', 'manual']);

/**
 * With a refund of a sale whose money the gateway collected, the money's way back is written down: it is asked of the provider
 * once the refund's receipt is registered. The refund of a receipt whose money is gone already moves none.
 *
 * @throws Problem 409 payment_not_settled, refund_by_provider; 422 partial_refund_unsupported
 */
export async function payBackRefund(tx: Prisma.TransactionClient, refund: AcceptedRefund): Promise<void> {
  if (refund.salePaymentId === null) return;
  const [payment] = await tx.$queryRaw<PaidSale[]>`
    SELECT p.id, p.provider, p.flow, p.state, p.amount_tiyin, p.fiscal_mode, a.settings -> 'values' AS "values",
           p.merchant_id AS "merchantId"
      FROM payments p JOIN provider_accounts a ON a.id = p.account_id
     WHERE p.id = ${refund.salePaymentId} FOR UPDATE OF p`;
  if (!payment) throw new Error(`payment ${refund.salePaymentId} of a sale is missing`);
  if (ON_ITS_WAY.has(payment.state)) throw new Problem('payment_not_settled');
  if (!TAKEN.has(payment.state)) return;
  const amountTiyin = refund.document.totalTiyin;
  refuseUnlessPossible(payment, amountTiyin);
  if (payment.amount_tiyin < BigInt(amountTiyin) + (await promisedOf(tx, payment.id)))
    throw new Problem('nothing_left', 'So much of the money is on its way back, or back, that this is not left of it.');
  // Where the provider registers, its document of the refund follows the money: there is no receipt to wait for first.
  const state = payment.fiscal_mode === 'provider' ? 'requested' : 'waiting';
  await askMoneyBack(tx, { paymentId: payment.id, receiptId: refund.id, amountTiyin, state });
  if (state === 'requested') await makeDue(tx, payment.id);
}

/** What is back or is to go back. In a statement after the payment's lock: it sees what was written under it. */
async function promisedOf(tx: Prisma.TransactionClient, paymentId: string): Promise<bigint> {
  const [row] = await tx.$queryRaw<{ promised: bigint }[]>`
    SELECT coalesce(sum(f.amount_tiyin), 0)::int8 AS promised
      FROM payment_refunds f LEFT JOIN receipts b ON b.id = f.receipt_id
     WHERE f.payment_id = ${paymentId}
       AND (f.state IN ('requested', 'done')
            OR (f.state = 'waiting' AND b.status IS DISTINCT FROM 'rejected' AND b.status IS DISTINCT FROM 'cancelled'))`;
  return row?.promised ?? 0n;
}

function refuseUnlessPossible(sale: PaidSale, amountTiyin: number): void {
  const { provider, flow, amount_tiyin: paid } = sale;
  const { refundInitiator, partialRefunds } = capabilitiesOf(sale);
  if (refundInitiator[flow] === 'provider') {
    const detail = `Refund it in ${provider}'s own cabinet: the receipt is refunded when ${provider} reports it.`;
    throw new Problem('refund_by_provider', detail);
  }
  const canSplit = partialRefunds.includes(flow) && sale.fiscal_mode === 'gateway';
  if (!canSplit && BigInt(amountTiyin) !== paid) {
    const detail = `${provider} gives back the whole sum of this payment or nothing.`;
    throw new Problem('partial_refund_unsupported', detail);
  }
}
