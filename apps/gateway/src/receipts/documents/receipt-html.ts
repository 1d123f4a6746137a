import { fitsQrCode, markup, qrSvg, RECEIPT_LANGUAGES, trusted, type Markup, type ReceiptLanguage } from '#paper';
import { PAGE_STYLE } from './page-style.js';
import { PAGE_WORDS } from './page-words.js';
import { sendSection, shareSection } from './receipt-send.js';
import type { ItemRows, ReceiptRows, Row } from './receipt-rows.js';
import type { ShownReceipt } from './shown-receipt.js';

/** Sums with more characters need smaller ones on a phone. */
const LONG_SUM = 18;

/** The page of a receipt: no script, nothing from another host, every value escaped. */
export function receiptHtml(receipt: ShownReceipt, rows: ReceiptRows, language: ReceiptLanguage): string {
  const { seller, total } = rows;
  const paper = markup`<article class="paper">${warning(rows)}
${logo(rows.logo)}<header class="seller">${rows.header.map((line) => markup`<p>${line}</p>`)}<h1>${seller.name}</h1>${seller.rows.map(({ label, value }) => markup`<p>${label}: ${value}</p>`)}</header>
<p class="kind">${rows.title}</p>
<p class="amount${total.value.length > LONG_SUM ? ' long' : ''}">${total.value}</p>
<p class="status ${rows.status.mood}"><b>${rows.status.title}</b>${rows.status.detail}</p>
<hr>${list('', rows.head)}
<hr><ol class="items">${rows.items.map(item)}</ol>
<hr><dl class="sums">${row(total, 'sum')}${rows.sums.map((sum) => row(sum))}</dl>
${fiscal(rows, language)}${aside(rows)}${related(rows)}${footer(rows)}${warning(rows)}</article>`;
  const title = `${rows.title}: ${seller.name}`;
  return page({
    title,
    language,
    body: markup`${paper}${sendSection(receipt, language)}${take(receipt, language)}${shareSection(receipt, title, language)}${languages(receipt.url, language)}`,
  });
}

/** What a browser is shown at an address that opens nothing. */
export function missingPage(language: ReceiptLanguage, why: 'missing' | 'archived'): string {
  const { title, detail } = PAGE_WORDS[language][why];
  const body = markup`<article class="paper missing"><h1>${title}</h1><p>${detail}</p></article>${languages('', language)}`;
  return page({ title, language, body });
}

function page({ title, language, body }: { title: string; language: ReceiptLanguage; body: Markup }): string {
  return markup`<!doctype html>
<html lang="${language}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="robots" content="noindex,nofollow,noarchive"><meta name="format-detection" content="telephone=no">
<title>${title}</title><link rel="icon" href="data:,"><style>${trusted(PAGE_STYLE)}</style></head>
<body><main>${body}</main></body></html>
`.text;
}

function warning(rows: ReceiptRows): Markup | null {
  return rows.warning === null ? null : markup`<p class="warning">${rows.warning}</p>`;
}

/** Within the page itself: nothing is fetched for it. */
function logo(picture: ReceiptRows['logo']): Markup | null {
  if (picture === null) return null;
  const { png, width, height } = picture;
  return markup`<img class="logo" src="data:image/png;base64,${png.toString('base64')}" width="${width}" height="${height}" alt="">`;
}

function footer({ footer: lines }: ReceiptRows): Markup | null {
  if (lines.length === 0) return null;
  return markup`<hr><div class="seller">${lines.map((line) => markup`<p>${line}</p>`)}</div>`;
}

function item({ name, priced, discounted, details }: ItemRows): Markup {
  return markup`<li><h2>${name}</h2><dl class="priced">${[priced, ...discounted].map((one) => row(one))}</dl>${list('small', details)}</li>`;
}

function fiscal(rows: ReceiptRows, language: ReceiptLanguage): Markup | null {
  if (rows.fiscal.length === 0) return null;
  const notes = rows.notes.map((note) => markup`<p class="note">${note}</p>`);
  return markup`<hr><section class="fiscal">${list('', rows.fiscal)}${link(rows.verificationUrl)}${check(rows, language)}${notes}</section>`;
}

function link(url: string | null): Markup | null {
  if (url === null) return null;
  // Whatever a register calls its link: the page opens, and a person may follow it.
  const qr = fitsQrCode(url) ? trusted(qrSvg(url, 'QR')) : null;
  return markup`${qr}<p class="link"><a href="${url}" rel="noopener noreferrer">${url}</a></p>
`;
}

function check({ isFiscal, verificationUrl: url }: ReceiptRows, language: ReceiptLanguage): Markup | null {
  if (url === null || !isFiscal) return null;
  return markup`<a class="button" href="${url}" rel="noopener noreferrer">${PAGE_WORDS[language].check}</a>`;
}

function aside({ aside: notes }: ReceiptRows): Markup | null {
  if (notes === null) return null;
  return markup`<hr><section class="aside"><p class="note">${notes.title}</p>${list('small', notes.rows)}</section>`;
}

function related({ related: others }: ReceiptRows): Markup | null {
  if (others.length === 0) return null;
  const rows = others.map(
    ({ label, value, url }) => markup`<div><dt><a href="${url}">${label}</a></dt><dd>${value}</dd></div>`,
  );
  return markup`<hr><dl class="related">${rows}</dl>`;
}

function take({ url }: ShownReceipt, language: ReceiptLanguage): Markup {
  const words = PAGE_WORDS[language];
  const copy = (format: string, name: string): Markup =>
    markup`<a href="${url}?format=${format}&amp;lang=${language}">${name}</a>`;
  const paper = (mm: number, columns: number): Markup =>
    markup`<a href="${url}?format=pdf&amp;columns=${columns}&amp;lang=${language}">${words.printed} ${mm} mm</a>`;
  const links = [
    copy('pdf', 'PDF'),
    copy('png', words.picture),
    copy('text', words.text),
    paper(58, 32),
    paper(80, 48),
  ];
  return markup`<nav class="take"><span>${words.takeAway}</span>${links}</nav>`;
}

function languages(url: string, current: ReceiptLanguage): Markup {
  const links = RECEIPT_LANGUAGES.map((language) => {
    const mark = language === current ? trusted(' aria-current="true"') : null;
    return markup`<a href="${url}?lang=${language}" hreflang="${language}"${mark}>${PAGE_WORDS[language].language}</a>`;
  });
  return markup`<nav class="languages">${links}</nav>`;
}

function list(name: string, rows: readonly Row[]): Markup {
  return markup`<dl class="${name}">${rows.map((one) => row(one))}</dl>`;
}

function row({ label, value }: Row, name = ''): Markup {
  return markup`<div class="${name}"><dt>${label}</dt><dd>${value}</dd></div>`;
}
