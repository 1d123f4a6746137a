import type { StoredReceiptDocument } from '#database';
import { unsayable, type PaymentFlow } from '#payments';
import type { ProblemError } from '#problems';
import type { PaymentBody } from '../../receipts/receipt-body.js';
import { valueOf, type OpenAccount } from '../accounts/account-settings.js';
import type { PaymentRequestBody } from '../payment-request-body.js';
import { capabilitiesOf, lineFormOf } from '../provider-clients.js';

/** On which terms an account takes a sale: how the money moves, or all that it would refuse of the first kind. */
export type PaymentTerms = { kind: 'taken'; flow: PaymentFlow } | { kind: 'refused'; faults: readonly ProblemError[] };

export type FiscalMode = 'gateway' | 'provider';

/**
 * Who registers this sale. Pieces with marking codes, and receipts of several sellers, are our own registers' business, whatever the account
 * says.
 */
export function fiscalModeOf(
  account: OpenAccount,
  { items, further_receipts: further }: PaymentRequestBody,
): FiscalMode {
  const isMarked = items.some(({ labels }) => labels !== undefined && labels.length > 0);
  const isOurs = isMarked || further !== undefined;
  return valueOf(account, 'fiscal_mode') === 'provider' && !isOurs ? 'provider' : 'gateway';
}

/** What the money is for: all lines of all receipts. */
export interface Whole extends Pick<StoredReceiptDocument, 'lines'> {
  totalTiyin: number;
}

/** What a provider would refuse is refused before anything is stored. */
export function termsOf(
  account: OpenAccount,
  payment: PaymentBody,
  document: Whole,
  fiscalMode: FiscalMode,
): PaymentTerms {
  if (fiscalMode === 'provider') {
    const lost = unsayableFaults(account, document);
    if (lost.length > 0) return { kind: 'refused', faults: lost };
  }
  const flow = flowFor(account, payment);
  if (typeof flow !== 'string') return refused(flow);
  if (fiscalMode === 'provider' && !capabilitiesOf(account).fiscalFlows.includes(flow)) {
    const { provider } = account;
    const detail = `${provider} registers no receipt of a payment that is made this way, and the account leaves it to ${provider}.`;
    return refused(fault('/payment/provider', detail));
  }
  const wrong = amountFault(account, document.totalTiyin) ?? captureFault(payment, flow);
  return wrong ? refused(wrong) : { kind: 'taken', flow };
}

function refused(error: ProblemError): PaymentTerms {
  return { kind: 'refused', faults: [error] };
}

/** What a provider's form of a line cannot express, or not for sure: better no sale than one that it registers wrongly. */
function unsayableFaults(account: OpenAccount, { lines }: Whole): ProblemError[] {
  const form = lineFormOf(account);
  return lines.flatMap((line, index): ProblemError[] => {
    const lost = unsayable(line, form);
    if (!lost) return [];
    const detail = `${account.provider} registers this sale, and takes ${lost.detail}.`;
    return [fault(`/items/${String(index)}/${lost.field}`, detail)];
  });
}

const FIELD_OF = { token: 'token', qr: 'qr_code', phone: 'phone', none: 'provider' } as const;

function flowFor(account: OpenAccount, { token, qr_code: qr, phone }: PaymentBody): PaymentFlow | ProblemError {
  const { provider } = account;
  const { flows } = capabilitiesOf(account);
  if (token !== undefined && qr !== undefined) return fault('/payment/qr_code', 'Say token or qr_code, not both.');
  const given = token !== undefined ? 'token' : qr !== undefined ? 'qr' : phone !== undefined ? 'phone' : 'none';
  const flow = flows[given];
  if (flow !== null) return flow;
  return fault(
    `/payment/${FIELD_OF[given]}`,
    `${provider} cannot be asked for a payment by ${given === 'none' ? 'its own page with this account' : given}.`,
  );
}

/** A provider that would refuse the sum is not asked, and nothing is stored. */
function amountFault(account: OpenAccount, totalTiyin: number): ProblemError | null {
  const { amountTiyin: range } = capabilitiesOf(account);
  if (!range || (totalTiyin >= range.least && totalTiyin <= range.most)) return null;
  const bound = totalTiyin < range.least ? `from ${String(range.least)}` : `up to ${String(range.most)}`;
  return fault('/payment/provider', `${account.provider} takes sums ${bound} tiyin with this account.`);
}

function captureFault({ capture, token }: PaymentBody, flow: PaymentFlow): ProblemError | null {
  if (capture !== 'manual' || (flow === 'hold' && token !== undefined)) return null;
  const detail = 'Only money that is held first can be captured later; this provider holds it by token alone.';
  return fault('/payment/capture', detail);
}

function fault(pointer: string, detail: string): ProblemError {
  return { pointer, code: 'invalid_value', detail };
}
