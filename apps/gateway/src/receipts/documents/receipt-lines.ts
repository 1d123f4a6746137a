import { fitsQrCode } from '#paper';
import { centred, twoSided, wrapped, type PaperColumns, type PaperLine } from './paper.js';
import type { ItemRows, ReceiptRows, Row } from './receipt-rows.js';
import type { ShownLogo } from './shown-receipt.js';

/** The receipt as a printer of fixed width would print it. */
export function receiptLines(rows: ReceiptRows, columns: PaperColumns): PaperLine[] {
  const sheet = new Sheet(columns);
  sheet.middle(rows.warning, true);
  sheet.picture(rows.logo);
  for (const line of rows.header) sheet.middle(line, false);
  sheet.middle(rows.seller.name, true);
  for (const { label, value } of rows.seller.rows) sheet.middle(`${label}: ${value}`, false);
  sheet.middle(rows.title, true);
  if (!rows.isFiscal) {
    sheet.middle(rows.status.title, true);
    sheet.middle(rows.status.detail, false);
  }
  sheet.rule();
  sheet.rows(rows.head);
  sheet.rule();
  rows.items.forEach((item) => printItem(sheet, item));
  sheet.rule();
  sheet.row(rows.total, true);
  sheet.rows(rows.sums);
  if (rows.fiscal.length > 0) sheet.rule();
  sheet.rows(rows.fiscal);
  for (const note of rows.notes) sheet.middle(note, false);
  if (rows.verificationUrl !== null) sheet.link(rows.verificationUrl);
  if (rows.aside) {
    sheet.rule();
    sheet.middle(rows.aside.title, false);
    sheet.rows(rows.aside.rows);
  }
  if (rows.related.length > 0) sheet.rule();
  for (const other of rows.related) {
    sheet.row(other, false);
    sheet.long(other.url, other.url);
  }
  if (rows.footer.length > 0) sheet.rule();
  for (const line of rows.footer) sheet.middle(line, false);
  sheet.middle(rows.warning, true);
  return sheet.lines;
}

/** As plain text; the QR code is its link alone. */
export function receiptText(lines: readonly PaperLine[], columns: PaperColumns): string {
  const texts = lines.flatMap((line) => {
    if (line.kind === 'qr' || line.kind === 'picture') return [];
    return [line.kind === 'rule' ? '-'.repeat(columns) : line.text.trimEnd()];
  });
  return `${texts.join('\n')}\n`;
}

function printItem(sheet: Sheet, { name, priced, discounted, details }: ItemRows): void {
  sheet.long(name, null, true);
  sheet.rows([priced, ...discounted, ...details]);
}

class Sheet {
  readonly lines: PaperLine[] = [];

  constructor(private readonly columns: PaperColumns) {}

  rule(): void {
    this.lines.push({ kind: 'rule' });
  }

  middle(text: string | null, isBold: boolean): void {
    if (text !== null) this.print(centred(text, this.columns), { isBold });
  }

  row({ label, value }: Row, isBold: boolean): void {
    this.print(twoSided(label, value, this.columns), { isBold });
  }

  rows(rows: readonly Row[]): void {
    for (const row of rows) this.row(row, false);
  }

  long(text: string, href: string | null, isBold = false): void {
    this.print(wrapped(text, this.columns), { isBold, href });
  }

  picture(logo: ShownLogo | null): void {
    if (logo === null) return;
    const { png, width, height } = logo;
    this.lines.push({ kind: 'picture', png: png.toString('base64'), width, height });
  }

  link(link: string): void {
    if (fitsQrCode(link)) this.lines.push({ kind: 'qr', link });
    this.long(link, link);
  }

  private print(texts: readonly string[], { isBold, href = null }: { isBold: boolean; href?: string | null }): void {
    for (const text of texts) this.lines.push({ kind: 'text', text, isBold, href });
  }
}
