import {
  formatQuantity,
  isTestId,
  tashkentDayFirst,
  wirePrice,
  type FiscalField,
  type ReceiptLine,
  type ReceiptStatus,
} from '#fiscal-domain';
import { maskedPinfl, RECEIPT_WORDS, sumText, unitName, type ReceiptLanguage, type ReceiptWords } from '#paper';
import { PAGE_WORDS, type PageWords } from './page-words.js';
import { printable } from './paper.js';
import { packageKey, type RelatedReceipt, type ShownLogo, type ShownReceipt } from './shown-receipt.js';

/** What stands left and right in a line of the receipt. */
export interface Row {
  label: string;
  value: string;
}

export interface ItemRows {
  name: string;
  /** Quantity and unit price, and what they come to. */
  priced: Row;
  /** Discount and net; empty without a discount. */
  discounted: Row[];
  /** VAT, codes, marking: small print. */
  details: Row[];
}

/** All that a receipt says in one language, in its order: page, paper and text differ in appearance alone. */
export interface ReceiptRows {
  logo: ShownLogo | null;
  /** Of the merchant's own, above and below; none where it has none. */
  header: string[];
  footer: string[];
  title: string;
  /** A registered document of a real fiscal module, and no other. */
  isFiscal: boolean;
  /** Stands across a document that could pass for a fiscal one. */
  warning: string | null;
  status: { title: string; detail: string; mood: 'good' | 'waiting' | 'bad' };
  seller: { name: string; rows: Row[] };
  head: Row[];
  items: ItemRows[];
  total: Row;
  sums: Row[];
  fiscal: Row[];
  /** What the seller says and the fiscal document does not; null: nothing. */
  aside: { title: string; rows: Row[] } | null;
  notes: string[];
  /** For the QR code. */
  verificationUrl: string | null;
  related: (Row & { url: string })[];
}

const MOODS: Readonly<Record<ReceiptStatus, ReceiptRows['status']['mood']>> = {
  awaiting_payment: 'waiting',
  accepted: 'waiting',
  sending: 'waiting',
  registered: 'good',
  unknown: 'waiting',
  rejected: 'bad',
  cancelled: 'bad',
};

interface Words {
  language: ReceiptLanguage;
  paper: ReceiptWords;
  page: PageWords;
}

export function receiptRows(receipt: ShownReceipt, language: ReceiptLanguage): ReceiptRows {
  const words: Words = { language, paper: RECEIPT_WORDS[language], page: PAGE_WORDS[language] };
  const { document, registration, seller } = receipt;
  const isTest = registration?.isTest === true;
  const { brand } = receipt;
  return {
    ...{ logo: brand.logo, header: linesOf(brand.header), footer: linesOf(brand.footer) },
    title: words.paper.types[receipt.type] ?? receipt.type,
    isFiscal: receipt.status === 'registered' && !isTest,
    warning: warningOf(receipt, words),
    status: isTest
      ? { ...words.page.test, mood: 'bad' }
      : { ...words.page.statuses[receipt.status], mood: MOODS[receipt.status] },
    seller: {
      name: seller.name,
      rows: [
        { label: words.paper.tin, value: seller.tin },
        { label: words.paper.address, value: seller.address },
        { label: words.page.phone, value: seller.phone },
      ].filter(({ value }) => value !== ''),
    },
    head: headRows(receipt, words),
    items: document.lines.map((line) => itemRows(line, receipt, words)),
    total: { label: words.paper.total, value: `${sumText(document.totalTiyin)} ${words.page.sum}` },
    sums: sumRows(receipt, words),
    fiscal: fiscalRows(receipt, words),
    aside: asideOf(receipt, words),
    notes: noteRows(receipt, words),
    verificationUrl: webAddress(registration?.verificationUrl ?? null),
    related: receipt.related.map((other) => relatedRow(other, words)),
  };
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line.trim() !== '');
}

/** A register's answer is no reason to lead a reader to something else than a page. */
function webAddress(url: string | null): string | null {
  return url !== null && /^https?:\/\//i.test(url) ? url : null;
}

function warningOf({ id, status, registration }: ShownReceipt, { paper, page }: Words): string | null {
  if (status !== 'registered')
    return isTestId(id) ? `${page.test.title.toLocaleUpperCase()}. ${page.notFiscalYet}` : page.notFiscalYet;
  return registration?.isTest === true ? paper.notFiscal : null;
}

function noteRows({ isOnItsWay, registration }: ShownReceipt, { page }: Words): string[] {
  if (registration?.isTest === true) return [page.testUnchecked];
  return isOnItsWay ? [page.onItsWay] : [];
}

function headRows({ registration, createdAt, cashier }: ShownReceipt, { paper, page }: Words): Row[] {
  const who = cashier === null ? [] : [{ label: page.cashier, value: cashier }];
  if (!registration) return [{ label: page.accepted, value: tashkentDayFirst(createdAt.getTime()) }, ...who];
  const { receiptSeq, shiftNumber, registeredAt } = registration;
  return [
    { label: paper.receipt, value: String(receiptSeq) },
    ...(shiftNumber === null ? [] : [{ label: paper.shift, value: String(shiftNumber) }]),
    { label: paper.time, value: tashkentDayFirst(registeredAt.getTime()) },
    ...who,
  ];
}

function itemRows(line: ReceiptLine, receipt: ShownReceipt, { language, paper, page }: Words): ItemRows {
  // A part of a line that its own price does not say has another one at the register: the two papers are of one document.
  const { priceTiyin, discountTiyin } = wirePrice(line);
  const unit = unitName(line.units, language) ?? receipt.packageNames.get(packageKey(line)) ?? '';
  const details = [
    { label: `${paper.vat} ${String(line.vatPercent)}%`, value: sumText(line.vatTiyin) },
    { label: paper.spic, value: line.spic },
    { label: page.packageCode, value: line.packageCode },
    { label: paper.barcode, value: line.barcode ?? '' },
    ...line.labels.map((label) => ({ label: paper.marking, value: printable(label) })),
    ...(isStated(receipt, 'commission') ? sellerRows(line, paper) : []),
  ];
  return {
    name: line.name,
    priced: {
      label: `${formatQuantity(line.quantity)}${unit === '' ? '' : ` ${unit}`} × ${sumText(priceTiyin)}`,
      value: sumText(line.totalTiyin + discountTiyin),
    },
    discounted:
      discountTiyin > 0
        ? [
            { label: paper.discount, value: `−${sumText(discountTiyin)}` },
            { label: paper.afterDiscount, value: sumText(line.totalTiyin) },
          ]
        : [],
    details: details.filter(({ value }) => value !== ''),
  };
}

/** A registered receipt says as fiscal what its register has recorded; one that is not says all, and that it is none. */
function isStated({ registration }: ShownReceipt, field: FiscalField): boolean {
  return registration === null || registration.recordedFields.includes(field);
}

function sellerRows({ commission }: ReceiptLine, paper: ReceiptWords): Row[] {
  // Documents of earlier releases may hold null for the one of the two that was not given.
  return [
    { label: paper.principalTin, value: commission?.tin ?? '' },
    { label: paper.principalPinfl, value: maskedPinfl(commission?.pinfl ?? '') },
  ].filter(({ value }) => value !== '');
}

function asideOf(receipt: ShownReceipt, { paper, page }: Words): ReceiptRows['aside'] {
  const { lines, payment } = receipt.document;
  const sellers = isStated(receipt, 'commission')
    ? []
    : lines.flatMap((line) =>
        sellerRows(line, paper).map(({ label, value }) => ({ label: `${page.line} ${line.line}: ${label}`, value })),
      );
  const isCardInstead = payment.method === 'wallet' && !isStated(receipt, 'payment_provider');
  const wallet = isCardInstead ? [{ label: walletLabel(receipt, paper), value: sumText(payment.cardTiyin) }] : [];
  const rows = [...sellers, ...wallet];
  return rows.length === 0 ? null : { title: page.notInDocument, rows };
}

function walletLabel({ document: { payment } }: ShownReceipt, paper: ReceiptWords): string {
  return payment.provider === null ? paper.wallet : `${paper.wallet} (${printable(payment.provider)})`;
}

function sumRows(receipt: ShownReceipt, { paper, page }: Words): Row[] {
  const { document, refundedTiyin, related, type, asOf } = receipt;
  const { payment, totalTiyin } = document;
  const isWallet = payment.method === 'wallet' && isStated(receipt, 'payment_provider');
  const rows = [
    { label: paper.totalVat, value: sumText(document.vatTotalTiyin) },
    { label: paper.cash, value: sumText(payment.cashTiyin) },
    // By law wallet money counts as card money; the document of a register that takes it names the wallet.
    { label: isWallet ? walletLabel(receipt, paper) : paper.card, value: sumText(payment.cardTiyin) },
  ];
  if (type !== 'sale' || (refundedTiyin === 0 && related.length === 0)) return rows;
  const label = refundedTiyin === totalTiyin ? page.refundedWhole : page.refunded;
  return [
    ...rows,
    { label, value: sumText(refundedTiyin) },
    { label: page.asOf, value: tashkentDayFirst(asOf.getTime()) },
  ];
}

function fiscalRows({ registration, type }: ShownReceipt, { paper, page }: Words): Row[] {
  if (!registration) return [];
  const { terminalId, fiscalSign } = registration;
  const hasSign = type === 'sale' || type === 'refund';
  const sign = fiscalSign ?? (hasSign ? page.signUnknown : page.withoutSign);
  return [
    { label: paper.terminal, value: terminalId },
    { label: paper.sign, value: sign },
  ];
}

function relatedRow(other: RelatedReceipt, { paper, page }: Words): Row & { url: string } {
  const name = other.type === 'refund' ? page.refund : page.sale;
  const isKnown = other.status === 'registered' && other.receiptSeq !== null;
  const more = isKnown ? `${paper.receipt} ${String(other.receiptSeq)}` : page.statuses[other.status].title;
  return { label: `${name}: ${more}`, value: sumText(other.totalTiyin), url: other.url };
}
