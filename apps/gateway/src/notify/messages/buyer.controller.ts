import { Controller, Get, Headers, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '#problems';
import { AcceptsForm, BodyLimit, preferredLanguage } from '#http';
import type { ReceiptLanguage } from '#paper';
import { Answers } from '#runtime';
import { MessageTokens } from './message-tokens.js';
import { RecordReports } from './record-reports.js';
import { Unsubscribe, type UnsubscribeFacts } from './unsubscribe.js';
import { NOTICE_POLICY, noticePage } from './notice-page.js';
import { NOTICE_WORDS } from './notice-words.js';

const REPORT_LIMIT_BYTES = 256 * 1024;
const NOT_FOUND = 'There is nothing at this address.';

/** Where providers report, and where buyers end messages: each address proves by itself what it may do. */
@Controller()
export class BuyerController {
  constructor(
    private readonly tokens: MessageTokens,
    private readonly reports: RecordReports,
    private readonly unsubscribing: Unsubscribe,
  ) {}

  /** Reports of an account's provider, in its own form. */
  @Post('m/:account')
  @HttpCode(200)
  @BodyLimit(REPORT_LIMIT_BYTES)
  @Answers({ statuses: [200], mediaTypes: ['text/plain'] })
  async report(
    @Param('account') token: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const accountId = this.tokens.accountIdOf(token);
    const answer = accountId === null ? null : await this.reports.execute(accountId, request.body, secretOf(request));
    if (answer === null) throw new Problem('not_found', NOT_FOUND);
    await reply.status(200).type('text/plain; charset=utf-8').send(answer);
  }

  /** Asks whether messages are to end: opening an address alone ends nothing, programs open it too. */
  @Get('u/:message')
  @Answers({ statuses: [200], mediaTypes: ['text/html'] })
  async ask(
    @Param('message') token: string,
    @Headers('accept-language') languages: string | undefined,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const language = preferredLanguage(languages, 'uz');
    const about = await this.unsubscribing.about(this.messageId(token));
    if (!about) throw new Problem('not_found', NOT_FOUND);
    await sendPage(reply, aboutUnsubscribing(language, about));
  }

  /** One request ends messages over this channel to this address (RFC 8058). */
  @Post('u/:message')
  @HttpCode(200)
  @AcceptsForm()
  @Answers({ statuses: [200], mediaTypes: ['text/html'] })
  async end(
    @Param('message') token: string,
    @Headers('accept-language') languages: string | undefined,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const ended = await this.unsubscribing.end(this.messageId(token));
    if (!ended) throw new Problem('not_found', NOT_FOUND);
    await sendPage(reply, aboutUnsubscribing(preferredLanguage(languages, 'uz'), ended));
  }

  private messageId(token: string): string {
    const id = this.tokens.messageIdOf(token);
    if (id === null) throw new Problem('not_found', NOT_FOUND);
    return id;
  }
}

function aboutUnsubscribing(language: ReceiptLanguage, { merchant, address, isEnded }: UnsubscribeFacts): string {
  const words = NOTICE_WORDS[language];
  const button = isEnded ? null : words.button;
  return noticePage(language, {
    title: merchant,
    lines: [address, isEnded ? words.ended : words.ask],
    button,
    back: null,
  });
}

/** Of Telegram, beside the address. */
function secretOf({ headers }: FastifyRequest): string | undefined {
  const secret = headers['x-telegram-bot-api-secret-token'];
  return typeof secret === 'string' ? secret : undefined;
}

async function sendPage(reply: FastifyReply, html: string): Promise<void> {
  const headers = { 'cache-control': 'no-store', 'content-security-policy': NOTICE_POLICY, 'x-robots-tag': 'noindex' };
  await reply.status(200).headers(headers).type('text/html; charset=utf-8').send(html);
}
