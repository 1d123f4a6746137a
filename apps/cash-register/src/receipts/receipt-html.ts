import { tashkentDayFirst, type LocalReceipt } from '#fiscal-domain';
import {
  escapeHtml,
  isTestModule,
  maskedPinfl,
  qrSvg,
  RECEIPT_WORDS,
  sumText,
  unitName,
  type ReceiptLanguage,
  type ReceiptWords,
} from '#paper';
import type { FiscalItem, OfdDocument, Taxpayer } from '#fiscal-module';

/** Who issues the receipt: what its head says. */
export interface ReceiptIssuer {
  readonly businessName: string;
  readonly tin: string;
  readonly branchAddress: string;
  /** Base of the verification link. */
  readonly verificationUrl: string;
  readonly language: ReceiptLanguage;
}

const STYLE = `<style>@page{size:80mm auto;margin:3mm}*{box-sizing:border-box}body{margin:0;background:#fff;color:#000}
.receipt{width:100%;max-width:74mm;margin:0 auto;padding:2mm;font:12px/1.35 ui-monospace,Menlo,Consolas,monospace;overflow-wrap:anywhere}
.receipt h1{font-size:14px;text-align:center;margin:0 0 1mm}.receipt p{margin:0 0 1mm;text-align:center}
.receipt table{width:100%;border-collapse:collapse;border-top:1px dashed #000;margin-top:2mm}.receipt td{vertical-align:top;padding:1px 0}
.receipt td+td{text-align:right;padding-left:2mm;white-space:nowrap}.receipt .sum td{font-size:15px;font-weight:700}
.receipt td.wide{text-align:left;white-space:normal;font-weight:700;padding-top:2px}.receipt td.small{font-size:10px;white-space:normal;text-align:left}
.receipt .qr{display:block;width:44mm;max-width:100%;margin:2mm auto}.receipt .test{border:2px solid #000;font-weight:700;padding:1mm;margin:1mm 0}</style>`;

/**
 * Marking codes on one receipt, the first ones. The document may hold 150 000 and the OFD has them all; as many printed lines would make an
 * answer that no caller reads (MAX_LOCAL_ANSWER_BYTES).
 */
const MAX_PRINTED_CODES = 500;

/**
 * The receipt as a page of 80 mm paper that also reads well on a phone: no scripts, no outside resources, every value
 * escaped. Sums in so'm.
 */
export function receiptHtml(document: OfdDocument, receipt: LocalReceipt, issuer: ReceiptIssuer): string {
  const words = RECEIPT_WORDS[issuer.language];
  const title = words.types[document.type] ?? document.type;
  const test = isTestModule(document.terminal_id) ? `<p class="test">${words.notFiscal}</p>` : '';
  return (
    `<!DOCTYPE html><html lang="${issuer.language}"><head><meta charset="utf-8">` +
    '<meta name="viewport" content="width=device-width,initial-scale=1">' +
    `<title>${words.receipt} ${String(document.seq)}</title>${STYLE}</head><body><div class="receipt">${test}` +
    `<h1>${escapeHtml(issuer.businessName)}</h1><p>${words.tin}: ${escapeHtml(issuer.tin)}</p>` +
    `<p>${words.address}: ${escapeHtml(issuer.branchAddress)}</p><p><b>${title}</b></p>` +
    `<table>${headRows(document, receipt, words)}</table>` +
    `<table>${allItemRows(document.items, issuer.language)}</table>` +
    `<table>${totalRows(document, words)}</table><table>${signRows(receipt, words)}</table>` +
    `${receipt.qrUrl === undefined ? '' : qrSvg(receipt.qrUrl, 'QR')}${linkLine(receipt)}${test}</div></body></html>`
  );
}

function headRows(document: OfdDocument, receipt: LocalReceipt, words: ReceiptWords): string {
  const refund = document.refund_info;
  return (
    row(words.receipt, String(document.seq)) +
    row(words.shift, String(document.shift)) +
    row(words.time, tashkentDayFirst(receipt.transactionTime)) +
    (refund ? row(words.refundOf, `${String(refund.receiptSeq)} (${refund.terminalId})`) : '') +
    taxpayerRows(document.customer, { tin: words.buyerTin, pinfl: words.buyerPinfl })
      .map(([label, value]) => row(label, value))
      .join('')
  );
}

function allItemRows(items: readonly FiscalItem[], language: ReceiptLanguage): string {
  let left = MAX_PRINTED_CODES;
  const rows = items.map((item) => {
    const printed = item.labels.slice(0, left);
    left -= printed.length;
    return itemRows(item, printed, language);
  });
  return rows.join('');
}

function itemRows(item: FiscalItem, printedCodes: readonly string[], language: ReceiptLanguage): string {
  const words = RECEIPT_WORDS[language];
  const wide = (text: string): string => `<tr><td colspan="2" class="wide">${escapeHtml(text)}</td></tr>`;
  const small = (text: string): string => `<tr><td colspan="2" class="small">${escapeHtml(text)}</td></tr>`;
  const unit = unitName(item.units, language);
  const notPrinted = item.labels.length - printedCodes.length;
  const quantity = `${quantityText(item.amount)}${unit === null ? '' : ` ${unit}`}`;
  return (
    wide(item.name) +
    row(`${quantity} × ${sumText(item.price)}`, sumText(item.total + item.discount)) +
    (item.discount > 0
      ? row(words.discount, `−${sumText(item.discount)}`) + row(words.afterDiscount, sumText(item.total))
      : '') +
    row(`${words.vat} ${String(item.vat_percent)}%`, sumText(item.vat)) +
    small(`${words.spic}: ${item.spic}${item.package_code === null ? '' : ` / ${item.package_code}`}`) +
    (item.barcode === null ? '' : small(`${words.barcode}: ${item.barcode}`)) +
    taxpayerRows(item.commission, { tin: words.principalTin, pinfl: words.principalPinfl })
      .map(([label, value]) => small(`${label}: ${value}`))
      .join('') +
    printedCodes.map((label) => small(`${words.marking}: ${label.replaceAll('\u001d', '␝')}`)).join('') +
    (notPrinted === 0 ? '' : small(`${words.markingNotPrinted}: ${String(notPrinted)}`))
  );
}

function taxpayerRows(party: Taxpayer | undefined, words: { tin: string; pinfl: string }): [string, string][] {
  const { tin, pinfl } = party ?? { tin: null, pinfl: null };
  return [
    ...(tin === null ? [] : [[words.tin, tin] satisfies [string, string]]),
    ...(pinfl === null ? [] : [[words.pinfl, maskedPinfl(pinfl)] satisfies [string, string]]),
  ];
}

function totalRows(document: OfdDocument, words: ReceiptWords): string {
  const total = document.items.reduce((sum, item) => sum + item.total, 0);
  return (
    `<tr class="sum"><td>${words.total}</td><td>${sumText(total)}</td></tr>` +
    row(words.totalVat, sumText(document.vat)) +
    row(words.cash, sumText(document.cash)) +
    row(cardLabel(document, words), sumText(document.card))
  );
}

/** Wallet money counts as card; where the document names the wallet, so does the paper. */
function cardLabel({ payment_provider: wallet }: OfdDocument, words: ReceiptWords): string {
  return wallet === undefined ? words.card : `${words.wallet} (${wallet})`;
}

function signRows(receipt: LocalReceipt, words: ReceiptWords): string {
  const sign = receipt.fiscalSign === undefined ? '' : row(words.sign, receipt.fiscalSign);
  return row(words.terminal, receipt.terminalId) + sign;
}

function linkLine({ qrUrl }: LocalReceipt): string {
  if (qrUrl === undefined) return '';
  const href = escapeHtml(qrUrl);
  return `<p><a href="${href}">${href}</a></p>`;
}

function row(label: string, value: string): string {
  return `<tr><td>${escapeHtml(label)}</td><td>${escapeHtml(value)}</td></tr>`;
}

/** Thousandths as decimal text without trailing zeros. */
function quantityText(amount: number): string {
  const rest = amount % 1000;
  const whole = String((amount - rest) / 1000);
  return rest === 0
    ? whole
    : `${whole}.${String(rest)
        .padStart(3, '0')
        .replace(/(?<!0)0+$/, '')}`;
}
