import { Controller, Headers, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '#problems';
import { AcceptsForm, preferredLanguage, statusOf } from '#http';
import { RECEIPT_LANGUAGES, type ReceiptLanguage } from '#paper';
import { Answers } from '#runtime';
import { noSuchAddress } from '../../receipts/missing-receipt.js';
import { ReceiptUrls } from '../../receipts/receipt-url.js';
import { NOTICE_POLICY, noticePage, type Notice } from './notice-page.js';
import { NOTICE_WORDS } from './notice-words.js';
import { PageMessages, type PageChannel } from './page-messages.js';

const NOT_FOR_SEARCH = { 'x-robots-tag': 'noindex, nofollow, noarchive', 'cache-control': 'no-store' };

/** The forms of a receipt's page: who has its address may have it sent, within bounds. */
@Controller('r')
export class PageController {
  constructor(
    private readonly urls: ReceiptUrls,
    private readonly messages: PageMessages,
  ) {}

  /** Sends the receipt to an address that its reader enters: three letters and one SMS a receipt. */
  @Post(':receipt/messages')
  @HttpCode(200)
  @AcceptsForm()
  @Answers({ statuses: [200], mediaTypes: ['text/html'] })
  async send(
    @Param('receipt') token: string,
    @Query('lang') lang: unknown,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const receiptId = this.receiptId(token);
    const language = languageOf(lang, request.headers['accept-language']);
    const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
    const channel: PageChannel = form.get('channel') === 'sms' ? 'sms' : 'email';
    const to = (form.get('to') ?? '').trim();
    const words = NOTICE_WORDS[language];
    const back = { href: `/r/${token}?lang=${language}`, label: words.back };
    try {
      const address = await this.messages.send(receiptId, { channel, to, language });
      await sendNotice(reply, language, { title: words.sent, lines: [address], button: null, back });
    } catch (error) {
      // For a person the refusal is a page, with the status of the problem.
      if (!(error instanceof Problem) || error.code === 'not_found' || !wantsPage(request)) throw error;
      void reply.status(statusOf(error));
      if (error.retryAfterSeconds !== null) void reply.header('retry-after', String(error.retryAfterSeconds));
      await sendNotice(reply, language, { title: words.notSent, lines: [error.detail], button: null, back });
    }
  }

  /** No more messages of this merchant go to the addresses to which this receipt was sent. */
  @Post(':receipt/stop')
  @HttpCode(200)
  @AcceptsForm()
  @Answers({ statuses: [200], mediaTypes: ['text/html'] })
  async stop(
    @Param('receipt') token: string,
    @Query('lang') lang: unknown,
    @Headers('accept-language') languages: string | undefined,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const addresses = await this.messages.stop(this.receiptId(token));
    const language = languageOf(lang, languages);
    const words = NOTICE_WORDS[language];
    const lines = addresses.length === 0 ? [words.nothingSent] : [...addresses, words.ended];
    const back = { href: `/r/${token}?lang=${language}`, label: words.back };
    await sendNotice(reply, language, { title: words.button, lines, button: null, back });
  }

  private receiptId(token: string): string {
    const id = this.urls.receiptIdOf(token);
    if (id === null) throw noSuchAddress();
    return id;
  }
}

/** Browsers name the type; programs are answered as everywhere. */
function wantsPage({ headers }: FastifyRequest): boolean {
  return headers.accept?.includes('text/html') ?? false;
}

function languageOf(lang: unknown, header: string | undefined): ReceiptLanguage {
  return RECEIPT_LANGUAGES.find((language) => language === lang) ?? preferredLanguage(header, 'uz');
}

async function sendNotice(reply: FastifyReply, language: ReceiptLanguage, notice: Notice): Promise<void> {
  void reply.headers({ ...NOT_FOR_SEARCH, 'content-security-policy': NOTICE_POLICY });
  await reply.type('text/html; charset=utf-8').send(noticePage(language, notice));
}
