import { Injectable } from '@nestjs/common';
import { MEDIA_TYPES, type DocumentWish } from './document-query.js';
import { escPos } from './escpos.js';
import { PAGE_POLICY } from './page-style.js';
import { receiptHtml } from './receipt-html.js';
import { receiptLines, receiptText } from './receipt-lines.js';
import { ReceiptPress } from './receipt-press.js';
import { receiptRows, type ReceiptRows } from './receipt-rows.js';
import type { ShownReceipt } from './shown-receipt.js';

export interface PrintedReceipt {
  headers: Record<string, string>;
  body: string | Buffer;
}

const EXTENSIONS = { html: 'html', pdf: 'pdf', png: 'png', text: 'txt', escpos: 'bin' } as const;

/** A receipt as a page, PDF, picture, text or bytes for a printer: the same rows, put down differently. */
@Injectable()
export class PrintReceipt {
  constructor(private readonly press: ReceiptPress) {}

  async execute(receipt: ShownReceipt, wish: DocumentWish): Promise<PrintedReceipt> {
    const rows = receiptRows(receipt, wish.language);
    const number = receipt.registration?.receiptSeq ?? receipt.id;
    return {
      body: await this.bodyOf(receipt, rows, wish),
      headers: {
        'content-type': MEDIA_TYPES[wish.format],
        'content-language': wish.language,
        'content-disposition': `inline; filename="receipt-${number}.${EXTENSIONS[wish.format]}"`,
        vary: 'Accept, Accept-Language',
        // It changes with every refund, and no shared cache may keep what belongs to one buyer.
        'cache-control': 'private, no-store',
        ...(wish.format === 'html' && { 'content-security-policy': PAGE_POLICY }),
      },
    };
  }

  private async bodyOf(receipt: ShownReceipt, rows: ReceiptRows, wish: DocumentWish): Promise<string | Buffer> {
    const { format, columns, language } = wish;
    if (format === 'html') return receiptHtml(receipt, rows, language);
    const lines = receiptLines(rows, columns);
    if (format === 'text') return receiptText(lines, columns);
    if (format === 'escpos') return escPos(lines, columns);
    const title = `${rows.seller.name}: ${rows.title} ${receipt.registration?.receiptSeq ?? ''}`.trim();
    const createdAt = receipt.registration?.registeredAt ?? receipt.createdAt;
    return this.press.print({ merchantId: receipt.merchantId, format, language, title, createdAt, columns, lines });
  }
}
