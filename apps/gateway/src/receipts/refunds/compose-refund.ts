import type { StoredReceiptDocument } from '#database';
import {
  allThatIsLeft,
  checkLocalReceipt,
  fieldsNotToBeLost,
  formatQuantity,
  leftOf,
  parseQuantity,
  partsOf,
  proportionalSplit,
  resolvedTotals,
  splitLeft,
  thousandths,
  tiyin,
  toLocalReceipt,
  type FiscalField,
  type GoodsLookup,
  type LineLeft,
  type LineRequest,
  type PaymentSplit,
  type ReceiptLine,
  type ReceiptPayment,
  type RefundInfo,
  type RefundRefusal,
  type RuleViolation,
  type Tiyin,
  type VatRule,
} from '#fiscal-domain';
import type { ProblemError } from '#problems';
import { onlineFieldFaults } from '../online-field-faults.js';
import { providerLabel } from '../provider-label.js';
import type { PaymentBody } from '../receipt-body.js';
import { faultOfViolation } from '../rule-faults.js';
import { unsupportedFaults } from '../stated-fields.js';
import { linesOfSeller } from './lines-of-seller.js';
import type { RefundBody, RefundLineBody } from './refund-body.js';
import { isGiven } from '../../http/given.js';

/** All that decides what a refund becomes. */
export interface RefundQuestion {
  sale: StoredReceiptDocument;
  /** Of the sale, as its register knows it. */
  refundInfo: RefundInfo;
  /** Documents of the refunds that hold a part of the sale. */
  ledger: readonly StoredReceiptDocument[];
  body: RefundBody;
  /** What of its extensions the sale's fiscal document holds. */
  recordedFields: readonly FiscalField[];
  /** Its merchant has refused what a register does not take. */
  areRequired: boolean;
}

export type ComposedRefund =
  | { kind: 'composed'; document: StoredReceiptDocument }
  | { kind: 'nothing_left' }
  | { kind: 'refused'; faults: ProblemError[] };

/** The refund's document, or every reason why there is none. Pure: the caller holds the sale's row while it asks. */
export function composeRefund(question: RefundQuestion): ComposedRefund {
  const { sale, refundInfo, ledger, body } = question;
  const left = leftOf(
    sale.lines,
    ledger.flatMap(({ lines }) => lines),
  );
  if (left.every((line) => line.totalTiyin === 0)) return { kind: 'nothing_left' };
  const requested = requestedLines(sale.lines, left, body);
  if (requested.kind === 'refused') return requested;
  const { lines } = requested;
  const totals = resolvedTotals(lines);
  if (totals.totalTiyin === 0) {
    const detail = `What is to be returned is worth nothing by itself. ${describeLeft(left)}`;
    return { kind: 'refused', faults: [{ pointer: '/lines', code: 'out_of_range', detail }] };
  }
  const returned = ledger.map(({ payment }) => payment);
  const paid = composePayment(sale.payment, returned, { body, totalTiyin: totals.totalTiyin });
  if (paid.kind === 'refused') return paid;
  const document: StoredReceiptDocument = {
    type: 'refund',
    lines,
    payment: paid.payment,
    ...totals,
    customer: sale.customer,
    refundInfo,
    metadata: body.metadata ?? null,
    callbackUrl: body.callback_url ?? null,
    ...(sale.notify && { notify: sale.notify }),
  };
  return { kind: 'composed', document: { ...document, ...fieldsOfRefund(document, question) } };
}

/** A refund says what the document of its sale says: not less where that is refused, and never more. */
function fieldsOfRefund(
  document: StoredReceiptDocument,
  { recordedFields, areRequired }: RefundQuestion,
): Pick<StoredReceiptDocument, 'requiredFields' | 'withheldFields'> {
  const stated = fieldsNotToBeLost(document);
  const requiredFields = areRequired ? stated.filter((field) => recordedFields.includes(field)) : [];
  // The wallet into which the money goes back is the refund's own.
  const withheldFields = stated.filter((field) => field !== 'payment_provider' && !recordedFields.includes(field));
  return {
    ...(requiredFields.length > 0 && { requiredFields }),
    ...(withheldFields.length > 0 && { withheldFields }),
  };
}

/** What the register would refuse about it (promise 4), in pointers of the refund's body. */
export function refundViolations(
  document: StoredReceiptDocument,
  register: { goods: GoodsLookup; vatRule: VatRule },
  { lines }: RefundBody,
): ProblemError[] {
  const violations = checkLocalReceipt(toLocalReceipt(document, register.vatRule), register.goods, register.vatRule);
  return violations.map((violation) => ({ ...faultOfViolation(violation), pointer: pointerOf(violation, lines) }));
}

/** What the sale's document holds and its register would no longer take. */
export function lostByRegister(
  { requiredFields = [] }: StoredReceiptDocument,
  taken: readonly FiscalField[],
): ProblemError[] {
  const lost = requiredFields.filter((field) => !taken.includes(field));
  return unsupportedFaults(
    lost.map((field) => ({ field, pointer: '' })),
    'The register that sold',
  );
}

function pointerOf({ itemIndex, field }: RuleViolation, lines: RefundBody['lines']): string {
  if (field.startsWith('received')) return '/payment';
  // Without lines the whole body, which may be none, asks for it.
  return itemIndex === null || !lines ? '' : `/lines/${itemIndex}${field.startsWith('label') ? '/labels' : ''}`;
}

/** What is left, in words. */
export function describeLeft(left: readonly LineLeft[]): string {
  const rest = left.filter(({ quantityThousandths }) => quantityThousandths > 0);
  if (rest.length === 0) return 'Nothing is left.';
  const words = rest.slice(0, 10).map((line) => `line ${line.line}: ${amountLeft(line)}`);
  return `Left: ${words.join('; ')}${rest.length > 10 ? '; …' : ''}.`;
}

function amountLeft({ quantityThousandths, totalTiyin }: LineLeft): string {
  const quantity = quantityThousandths > 0 ? formatQuantity(thousandths(quantityThousandths)) : '0';
  return `${quantity} (${totalTiyin} tiyin)`;
}

function labelsLeft(left: LineLeft | null): string {
  if (left === null || left.labels.length === 0) return '';
  return `, labels ${left.labels.slice(0, 10).join(' ')}${left.labels.length > 10 ? ' …' : ''}`;
}

type Lines = { kind: 'lines'; lines: ReceiptLine[] } | { kind: 'refused'; faults: ProblemError[] };

function requestedLines(sold: readonly ReceiptLine[], left: readonly LineLeft[], { lines, seller }: RefundBody): Lines {
  if (isGiven(lines) && isGiven(seller)) {
    const detail = 'Say lines or seller, not both.';
    return { kind: 'refused', faults: [{ pointer: '/seller', code: 'invalid_value', detail }] };
  }
  if (seller) return linesOfSeller(sold, left, seller);
  if (!lines) return { kind: 'lines', lines: allThatIsLeft(sold, left) };
  const unclear = lines.flatMap(ambiguity);
  if (unclear.length > 0) return { kind: 'refused', faults: unclear };
  const parts = partsOf(sold, left, lines.map(requestOf));
  if (parts.kind === 'lines') return parts;
  return { kind: 'refused', faults: parts.refusals.map((refusal) => faultOf(refusal, lines[refusal.index], left)) };
}

function ambiguity(line: RefundLineBody, index: number): ProblemError[] {
  const given = (['qty', 'sum'] as const).filter((field) => isGiven(line[field]));
  if (given.length === 0) {
    return [{ pointer: `/lines/${index}/qty`, code: 'required', detail: 'Say qty or sum: how much of the line.' }];
  }
  if (given.length === 1) return [];
  return [{ pointer: `/lines/${index}/sum`, code: 'invalid_value', detail: 'Say qty or sum, not both.' }];
}

function requestOf({ line, qty, sum, labels }: RefundLineBody): LineRequest {
  if (isGiven(sum)) return { by: 'sum', line, totalTiyin: tiyin(Number(sum)) };
  const parsed = parseQuantity(qty ?? 0);
  // The body's shape was checked before; a quantity that cannot be read here would be a fault of ours.
  if (parsed.kind !== 'ok') throw new Error('An unreadable quantity passed the shape check');
  return { by: 'quantity', line, quantity: parsed.thousandths, labels: labels ?? null };
}

/** Which field a refusal speaks of (null: the quantity or sum, whichever was given), with which code, and why. */
const REFUSALS: Readonly<
  Record<RefundRefusal['reason'], { code: string; field: 'line' | 'labels' | 'sum' | null; detail: string }>
> = {
  line_unknown: { code: 'line_unknown', field: 'line', detail: 'The sale has no such line.' },
  line_repeated: { code: 'duplicate', field: 'line', detail: 'The line is named twice.' },
  exceeds_left: { code: 'exceeds_left', field: null, detail: 'More than is left of the line.' },
  indivisible: {
    code: 'not_divisible',
    field: null,
    detail: 'No quantity in steps of 0.001 stands for this sum; refund all that is left of the line.',
  },
  labels_required: { code: 'required', field: 'labels', detail: 'Say by their labels which pieces come back.' },
  labels_miscounted: { code: 'E-017', field: 'labels', detail: 'One label is needed for each piece that comes back.' },
  label_not_left: {
    code: 'label_not_left',
    field: 'labels',
    detail: 'A label is not of this line, has come back already, or is named twice.',
  },
  sum_of_pieces: {
    code: 'not_divisible',
    field: 'sum',
    detail: 'Marked goods come back by the piece: say qty and labels.',
  },
};

function faultOf(
  { reason, index, left }: RefundRefusal,
  asked: RefundLineBody | undefined,
  all: readonly LineLeft[],
): ProblemError {
  const { code, field, detail } = REFUSALS[reason];
  const named = field ?? (isGiven(asked?.sum) ? 'sum' : 'qty');
  const labels = field === 'labels' ? labelsLeft(left) : '';
  const rest = left === null ? ` ${describeLeft(all)}` : ` Left of line ${left.line}: ${amountLeft(left)}${labels}.`;
  const fault = { pointer: `/lines/${index}/${named}`, code, detail: detail + rest };
  if (reason !== 'labels_miscounted') return fault;
  return { ...fault, facts: { line: asked?.line, given: asked?.labels?.length, allowed: String(asked?.qty) } };
}

type Payment = { kind: 'payment'; payment: ReceiptPayment } | { kind: 'refused'; faults: ProblemError[] };

function composePayment(
  paid: ReceiptPayment,
  returned: readonly PaymentSplit[],
  { body, totalTiyin }: { body: RefundBody; totalTiyin: Tiyin },
): Payment {
  const left = splitLeft(paid, returned);
  const { method, provider } = paid;
  if (!body.payment) {
    return { kind: 'payment', payment: { method, provider, ...proportionalSplit(paid, left, totalTiyin) } };
  }
  const split = requestedSplit(body.payment, totalTiyin);
  if (split.kind === 'refused') return split;
  const faults = (['cash', 'card'] as const).flatMap((part) => {
    const [back, rest] = part === 'cash' ? [split.cashTiyin, left.cashTiyin] : [split.cardTiyin, left.cardTiyin];
    if (back <= rest) return [];
    const pointer = body.payment?.method === 'mixed' ? `/payment/${part}` : '/payment';
    const detail = `Only ${rest} tiyin of what was paid ${part === 'cash' ? 'in cash' : 'by card'} are left to return.`;
    return [{ pointer, code: 'exceeds_left', detail }];
  });
  if (faults.length > 0) return { kind: 'refused', faults };
  const given = { method: body.payment.method, provider: providerLabel(body.payment) };
  const { cashTiyin, cardTiyin } = split;
  return { kind: 'payment', payment: { ...given, cashTiyin, cardTiyin } };
}

type RequestedSplit = ({ kind: 'split' } & PaymentSplit) | { kind: 'refused'; faults: ProblemError[] };

function requestedSplit(body: PaymentBody, totalTiyin: Tiyin): RequestedSplit {
  const { method, cash, card } = body;
  const refused = (pointer: string, code: string, detail: string): RequestedSplit => ({
    kind: 'refused',
    faults: [{ pointer, code, detail }],
  });
  if (method === 'online') {
    const detail = 'Say how the money goes back; without payment it goes back as it came.';
    return refused('/payment/method', 'payment_method_unsupported', detail);
  }
  const strange = onlineFieldFaults(body);
  if (strange.length > 0) return { kind: 'refused', faults: strange };
  if (method !== 'mixed') {
    if (isGiven(cash) || isGiven(card)) {
      const detail = `Only the method "mixed" splits the sum; "${method}" returns all of it.`;
      return refused(`/payment/${isGiven(cash) ? 'cash' : 'card'}`, 'invalid_value', detail);
    }
    const none = tiyin(0);
    return method === 'cash'
      ? { kind: 'split', cashTiyin: totalTiyin, cardTiyin: none }
      : { kind: 'split', cashTiyin: none, cardTiyin: totalTiyin };
  }
  if (!isGiven(cash) || !isGiven(card)) {
    const field = isGiven(cash) ? 'card' : 'cash';
    return refused(`/payment/${field}`, 'required', `The method "mixed" needs ${field} in tiyin.`);
  }
  const [cashTiyin, cardTiyin] = [tiyin(Number(cash)), tiyin(Number(card))];
  if (cashTiyin < 0 || cardTiyin < 0) {
    const [part, given] = cashTiyin < 0 ? (['cash', cashTiyin] as const) : (['card', cardTiyin] as const);
    const detail = 'A returned sum must not be negative.';
    const facts = { given, allowed: '≥ 0' };
    return { kind: 'refused', faults: [{ pointer: `/payment/${part}`, code: 'E-008', detail, facts }] };
  }
  if (BigInt(cashTiyin) + BigInt(cardTiyin) !== BigInt(totalTiyin)) {
    const detail = `cash + card must be ${totalTiyin} tiyin, the total of what comes back.`;
    return refused('/payment', 'payment_mismatch', detail);
  }
  return { kind: 'split', cashTiyin, cardTiyin };
}
