import { Controller, Get, Headers, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { ReceiptStatus } from '#fiscal-domain';
import { Answers } from '#runtime';
import { noSuchAddress } from '../missing-receipt.js';
import { ReceiptUrls } from '../receipt-url.js';
import { documentWish, isBrowser, MEDIA_TYPES, publicQuery, type WishHeaders } from './document-query.js';
import { PAGE_POLICY } from './page-style.js';
import { PrintReceipt } from './print-receipt.js';
import { ReadShownReceipt } from './read-shown-receipt.js';
import { missingPage } from './receipt-html.js';

/** Seconds after which a page reloads, while something is still to come. */
const REFRESH_SECONDS: Readonly<Partial<Record<ReceiptStatus, number>>> = {
  awaiting_payment: 10,
  accepted: 5,
  sending: 5,
  unknown: 60,
};
/** Also in the page itself: a search engine must not keep what was meant for one buyer. */
const NOT_FOR_SEARCH = { 'x-robots-tag': 'noindex, nofollow, noarchive' };

@Controller('r')
export class ReceiptPageController {
  constructor(
    private readonly urls: ReceiptUrls,
    private readonly receipts: ReadShownReceipt,
    private readonly printer: PrintReceipt,
  ) {}

  /**
   * The receipt for a reader that holds its address (`receipt_url`). Takes `lang` (ru, uz, en), `format` (html, pdf, png, text, escpos) and
   * `columns` (32, 42, 48), and ignores what others add to a shared link.
   */
  @Get(':receipt')
  @Answers({
    statuses: [200],
    mediaTypes: ['text/html', 'application/pdf', 'image/png', 'text/plain', 'application/octet-stream'],
  })
  async page(
    @Param('receipt') token: string,
    @Query() query: Record<string, unknown>,
    @Headers() headers: WishHeaders,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    void reply.headers(NOT_FOR_SEARCH);
    const wish = documentWish(publicQuery(query), headers);
    // A token is judged without the database: guessing costs it nothing.
    const id = this.urls.receiptIdOf(token);
    const receipt = id === null ? null : await this.receipts.execute(id, null);
    if (receipt) {
      const printed = await this.printer.execute(receipt, wish);
      const refresh = REFRESH_SECONDS[receipt.status];
      if (refresh !== undefined && wish.format === 'html') void reply.header('refresh', String(refresh));
      await reply.headers(printed.headers).send(printed.body);
      return;
    }
    const problem = id === null ? noSuchAddress() : await this.receipts.missing(id, null);
    if (!isBrowser(headers.accept)) throw problem;
    const isArchived = problem.code === 'receipt_archived';
    await reply
      .status(isArchived ? 410 : 404)
      .headers({
        'content-type': MEDIA_TYPES.html,
        'cache-control': 'no-store',
        'content-security-policy': PAGE_POLICY,
      })
      .send(missingPage(wish.language, isArchived ? 'archived' : 'missing'));
  }
}
