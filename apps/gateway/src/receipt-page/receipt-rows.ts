import { formatQuantity, tashkentDateTime, type ReceiptLine, type ReceiptStatus } from '#fiscal-domain';
import { maskedPinfl, RECEIPT_WORDS, sumText, type ReceiptLanguage, type ReceiptWords } from '#paper';
import { PAGE_WORDS, type PageWords } from './page-words.js';
import { printable } from './paper.js';
import type { RelatedReceipt, ShownReceipt } from './shown-receipt.js';

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

/** All that a receipt says in one language, in its order: page, paper and text differ in looks alone. */
export interface ReceiptRows {
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
  paper: ReceiptWords;
  page: PageWords;
}

export function receiptRows(receipt: ShownReceipt, language: ReceiptLanguage): ReceiptRows {
  const words: Words = { paper: RECEIPT_WORDS[language], page: PAGE_WORDS[language] };
  const { document, registration, seller } = receipt;
  const isTest = registration?.isTest === true;
  return {
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
    items: document.lines.map((line) => itemRows(line, words)),
    total: { label: words.paper.total, value: `${sumText(document.totalTiyin)} ${words.page.sum}` },
    sums: sumRows(receipt, words),
    fiscal: fiscalRows(receipt, words),
    notes: noteRows(receipt, words),
    verificationUrl: webAddress(registration?.verificationUrl ?? null),
    related: receipt.related.map((other) => relatedRow(other, words)),
  };
}

/** A register's answer is no reason to lead anybody to something else than a page. */
function webAddress(url: string | null): string | null {
  return url !== null && /^https?:\/\//i.test(url) ? url : null;
}

function warningOf({ status, registration }: ShownReceipt, { paper, page }: Words): string | null {
  if (status !== 'registered') return page.notFiscalYet;
  return registration?.isTest === true ? paper.notFiscal : null;
}

function noteRows({ isOnItsWay, registration }: ShownReceipt, { page }: Words): string[] {
  if (registration?.isTest === true) return [page.testUnchecked];
  return isOnItsWay ? [page.onItsWay] : [];
}

function headRows({ registration, createdAt }: ShownReceipt, { paper, page }: Words): Row[] {
  if (!registration) return [{ label: page.accepted, value: tashkentDateTime(createdAt.getTime()) }];
  return [
    { label: paper.receipt, value: String(registration.receiptSeq) },
    { label: paper.time, value: tashkentDateTime(registration.registeredAt.getTime()) },
  ];
}

function itemRows(line: ReceiptLine, { paper, page }: Words): ItemRows {
  const hasDiscount = line.discountTiyin > 0;
  const details = [
    { label: `${paper.vat} ${String(line.vatPercent)}%`, value: sumText(line.vatTiyin) },
    { label: paper.spic, value: line.spic },
    { label: page.packageCode, value: line.packageCode },
    { label: paper.barcode, value: line.barcode ?? '' },
    ...line.labels.map((label) => ({ label: paper.marking, value: printable(label) })),
    { label: paper.principalTin, value: line.commission?.tin ?? '' },
    { label: paper.principalPinfl, value: maskedPinfl(line.commission?.pinfl ?? '') },
  ];
  return {
    name: line.name,
    priced: {
      label: `${formatQuantity(line.quantity)} × ${sumText(line.priceTiyin)}`,
      value: sumText(line.totalTiyin + line.discountTiyin),
    },
    discounted: hasDiscount
      ? [
          { label: paper.discount, value: `−${sumText(line.discountTiyin)}` },
          { label: '=', value: sumText(line.totalTiyin) },
        ]
      : [],
    details: details.filter(({ value }) => value !== ''),
  };
}

function sumRows({ document, refundedTiyin, type }: ShownReceipt, { paper, page }: Words): Row[] {
  const { payment, totalTiyin } = document;
  const rows = [
    { label: paper.totalVat, value: sumText(document.vatTotalTiyin) },
    { label: paper.cash, value: sumText(payment.cashTiyin) },
    { label: paper.card, value: sumText(payment.cardTiyin) },
  ];
  if (type !== 'sale' || refundedTiyin === 0) return rows;
  const label = refundedTiyin === totalTiyin ? page.refundedWhole : page.refunded;
  return [...rows, { label, value: sumText(refundedTiyin) }];
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
