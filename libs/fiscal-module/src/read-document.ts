import {
  localReceiptTotals,
  printedName,
  readExtraInfo,
  readTaxpayer,
  truncateUtf8,
  type LocalItem,
  type LocalReceiptRequest,
} from '#fiscal-domain';
import { sha256 } from '#runtime';
import type { FiscalDocument, FiscalItem } from './fiscal-module.js';
import { taxpayerPayload } from './ofd-document.js';

/** The module's limit; a longer name is cut, never refused. */
const MAX_NAME_BYTES = 63;

/**
 * The document to fiscalise. Whatever `vat` the wire says, the module counts the VAT of each line's net.
 * @param request has passed localShapeProblem, checkLocalReceipt and, with extensions, extensionProblem
 * @param options.extensions false: fields beyond the specification are ignored as all unknown ones
 */
export function readDocument(request: LocalReceiptRequest, options = { extensions: true }): FiscalDocument {
  const totals = localReceiptTotals(request);
  const items = request.items.map((item, index): FiscalItem => {
    const line = totals.lines[index];
    if (!line) throw new RangeError('An item has no total');
    const commission = options.extensions ? readTaxpayer(item.commission) : null;
    return {
      amount: item.amount,
      barcode: emptyToNull(item.barcode),
      ...(commission && { commission: taxpayerPayload(commission) }),
      discount: item.discount ?? 0,
      labels: labelsOf(item),
      name: truncateUtf8(printedName(item.name), MAX_NAME_BYTES),
      package_code: emptyToNull(item.packageCode),
      price: item.price,
      spic: item.spic,
      total: line.totalTiyin,
      units: item.units,
      vat: line.vatTiyin,
      vat_percent: item.vatPercent,
    };
  });
  return {
    type: request.type,
    items,
    cashTiyin: request.received.cash ?? 0,
    cardTiyin: request.received.card ?? 0,
    vatTiyin: totals.vatTotalTiyin,
    refundInfo: request.type === 'refund' ? (request.refundInfo ?? null) : null,
    extraInfo: options.extensions ? readExtraInfo(request.extraInfo) : null,
    customer: options.extensions ? readTaxpayer(request.customer) : null,
    paymentProvider: options.extensions ? emptyToNull(request.paymentProvider) : null,
  };
}

function labelsOf(item: LocalItem): string[] {
  const listed = (item.labels ?? []).filter((label) => label.trim() !== '');
  if (listed.length > 0) return listed;
  return item.label === undefined || item.label === null || item.label.trim() === '' ? [] : [item.label];
}

function emptyToNull(text: string | null | undefined): string | null {
  return text === undefined || text === null || text === '' ? null : text;
}

const ITEM_FIELDS = [
  ...['name', 'spic', 'units', 'price', 'amount', 'vatPercent', 'vat', 'barcode', 'label', 'labels', 'discount'],
  ...['packageCode', 'cashSale'],
];
const REFUND_FIELDS = ['terminalId', 'receiptSeq', 'dateTime', 'fiscalSign'];

/**
 * SHA-256 (hex) of what the register reads of a body, in a fixed order: the same document under the same key is a
 * replay however it was spaced or ordered. Never throws, whatever was parsed: nested values where a plain one
 * belongs are not followed (a body of a million brackets would exhaust the stack). How the money came (`extraInfo`) is no part
 * of it: the same sale is no other one because more is known about its payment.
 */
export function requestHash(body: Readonly<Record<string, unknown>>): string {
  const items = Array.isArray(body['items']) ? (body['items'] as unknown[]) : [];
  const received = fieldsOf(body['received'], ['cash', 'card', 'cashSale']);
  const refund = fieldsOf(body['refundInfo'], REFUND_FIELDS);
  const parts = [
    ...[plain(body['type']), plain(body['totalVAT']), plain(body['cashSale']), received, refund],
    items.map((item) => fieldsOf(item, ITEM_FIELDS)),
    ...extensionParts(body, items),
  ];
  return sha256(JSON.stringify(parts)).toString('hex');
}

/**
 * Seller, buyer and wallet are part of what was registered: under the same key they may not change. Nothing where none of them is
 * given, so that a document without them has the digest that registers without these extensions kept.
 */
function extensionParts(body: Readonly<Record<string, unknown>>, items: readonly unknown[]): unknown[] {
  const sellers = items.map((item) => taxpayer((item as Record<string, unknown> | null)?.['commission']));
  const [customer, provider] = [taxpayer(body['customer']), plain(body['paymentProvider'])];
  const isNone = customer === null && provider === null && sellers.every((seller) => seller === null);
  return isNone ? [] : [sellers, customer, provider];
}

function taxpayer(value: unknown): unknown[] | null {
  return fieldsOf(value, ['tin', 'pinfl']);
}

function fieldsOf(value: unknown, names: readonly string[]): unknown[] | null {
  if (typeof value !== 'object' || value === null) return null;
  return names.map((name) => {
    const field = (value as Record<string, unknown>)[name];
    return name === 'labels' && Array.isArray(field) ? (field as unknown[]).map(plain) : plain(field);
  });
}

function plain(value: unknown): unknown {
  if (value === undefined || value === null) return null;
  return typeof value === 'object' ? '{}' : value;
}
