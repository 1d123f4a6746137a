import { centred, twoSided, wrapped, type PaperColumns, type PaperLine } from './paper.js';
import type { ItemRows, ReceiptRows, Row } from './receipt-rows.js';

/** The receipt as a printer of fixed width would print it. */
export function receiptLines(rows: ReceiptRows, columns: PaperColumns): PaperLine[] {
  const sheet = new Sheet(columns);
  sheet.middle(rows.warning, true);
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
  sheet.middle(rows.warning, true);
  return sheet.lines;
}

/** As plain text; the QR code is its link alone. */
export function receiptText(lines: readonly PaperLine[], columns: PaperColumns): string {
  const texts = lines.flatMap((line) => {
    if (line.kind === 'qr') return [];
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

  link(link: string): void {
    this.lines.push({ kind: 'qr', link });
    this.long(link, link);
  }

  private print(texts: readonly string[], { isBold, href = null }: { isBold: boolean; href?: string | null }): void {
    for (const text of texts) this.lines.push({ kind: 'text', text, isBold, href });
  }
}
