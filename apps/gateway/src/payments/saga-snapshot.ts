import { isWithoutMoney, type PaymentRef, type ProviderCapabilities, type SagaSnapshot } from '#payments';
import type { PaymentFacts } from './payment.rows.js';
import { standingOf, standingWithoutMoney } from './several-receipts.js';

/** Facts of the database as the saga's table wants them. */
export function snapshotOf(
  facts: PaymentFacts,
  capabilities: ProviderCapabilities,
  client: { prepares: boolean; submitsLines: boolean },
  timing: { holdMarginMs: number },
): SagaSnapshot {
  const isPage = client.prepares && facts.instrument_sealed === null;
  return {
    flow: facts.flow,
    state: facts.state,
    ...receiptsStanding(facts),
    isReceiptKept: facts.is_receipt_kept,
    isRefundedAhead: facts.is_refunded_ahead,
    refundRequested: facts.refund_id !== null && facts.state === 'captured',
    mayBeBack: facts.may_be_back,
    // Not where the customer pays on a page that is only made known there, nor where the provider knows our key again.
    mayBeCharged: facts.is_of_copy && !isPage && capabilities.keyedCharges !== true,
    isOfCopy: facts.is_of_copy,
    isFoundByOurRef: capabilities.statusByOurRef,
    canRefund: capabilities.refundInitiator[facts.flow] === 'us',
    isPrepared: facts.provider_ref !== null || !client.prepares,
    link: linkOf(facts, capabilities),
    fiscalisedBy: facts.fiscal_mode === 'provider' ? 'provider' : 'register',
    documents: documentsOf(facts, capabilities, client.submitsLines),
    code: facts.code,
    waitsForCapture: facts.waits_for_capture,
    cancelRequested: facts.cancel_requested,
    outOfTime: isOutOfTime(facts, timing),
  };
}

function receiptsStanding(facts: PaymentFacts): Pick<SagaSnapshot, 'receipt' | 'fiscalRefund'> {
  const { receipt_status: status, fiscal_refund, further } = facts;
  if (further === null) return { receipt: status, fiscalRefund: fiscal_refund };
  const sales = [{ status, fiscal_refund }, ...further];
  return isWithoutMoney(facts.state) ? standingWithoutMoney(sales) : standingOf(sales);
}

/** A provider that has reported no sale this long after its money went back will not: nothing was registered. */
const DOCUMENT_PATIENCE_MS = 24 * 3_600_000;

function documentsOf(
  facts: PaymentFacts,
  { providerDocuments, refundDocuments }: ProviderCapabilities,
  submitsLines: boolean,
): SagaSnapshot['documents'] {
  // Some take the lines with the payment itself.
  const toFetch = facts.lines_submitted || !submitsLines ? 'fetch' : 'submit';
  return {
    next: providerDocuments === 'fetched' ? toFetch : 'await',
    nextRefund: refundDocuments === 'fetched' ? 'fetch' : 'await',
    sale: facts.fiscal_documents?.sale !== undefined,
    refund: facts.fiscal_documents?.refund !== undefined,
    isOverdue: facts.now.getTime() - facts.state_since.getTime() > DOCUMENT_PATIENCE_MS,
  };
}

function linkOf(facts: PaymentFacts, { linkFlows }: ProviderCapabilities): SagaSnapshot['link'] {
  if (facts.link === 'attached') return 'attached';
  // A sign that could not be read back has no link; a provider that refused it is not asked again.
  const canAttach =
    facts.fiscal_mode === 'gateway' &&
    linkFlows.includes(facts.flow) &&
    facts.link === 'missing' &&
    facts.verification_url !== null;
  return canAttach ? 'missing' : 'none';
}

/** By the database's clock. Before the provider has begun, the customer's time; after that the hold's. */
function isOutOfTime(facts: PaymentFacts, timing: { holdMarginMs: number }): boolean {
  const { state, expires_at, hold_until, now } = facts;
  if (state === 'created' || state === 'pending') return expires_at <= now;
  // A reading that was under way may say so after the provider has been answered that the order is closed, and gives the money back.
  if (state === 'reserved' && facts.flow === 'veto' && facts.state_since >= expires_at) return true;
  if (isWithoutMoney(state) || hold_until === null) return false;
  return (state === 'authorized' ? saleBefore(facts, hold_until, timing) : hold_until) <= now;
}

/** What must be left of a hold when its receipt goes to the register: of a short one, a third. */
export function saleBefore(
  { state_since: heldSince }: Pick<PaymentFacts, 'state_since'>,
  holdUntil: Date,
  { holdMarginMs }: { holdMarginMs: number },
): Date {
  const marginMs = Math.min(holdMarginMs, Math.max(holdUntil.getTime() - heldSince.getTime(), 0) / 3);
  return new Date(holdUntil.getTime() - marginMs);
}

export function refOf(facts: PaymentFacts): PaymentRef {
  return {
    ourRef: facts.id,
    providerRef: facts.provider_ref,
    flow: facts.flow,
    amountTiyin: Number(facts.amount_tiyin),
    createdAtMs: facts.created_at.getTime(),
    isRefunding: facts.state === 'refunding' || facts.state === 'refund_unknown',
  };
}
