import { Inject, Injectable } from '@nestjs/common';
import { tashkentDayFirst } from '#fiscal-domain';
import {
  emailHtml,
  emailText,
  LOGO_CID,
  MESSAGE_DEFINITIONS,
  renderText,
  type Attachment,
  type EmailContent,
  type MessageChannel,
  type MessageFacts,
  type MessageLanguage,
  type MessageTemplate,
  type OutgoingMessage,
} from '#messages';
import { sumText } from '#paper';
import { PrintReceipt } from '../../receipts/documents/print-receipt.js';
import { ReadNotices, type Notice } from '../../receipts/documents/read-notices.js';
import { ReadShownReceipt } from '../../receipts/documents/read-shown-receipt.js';
import type { ShownBrand, ShownReceipt } from '../../receipts/documents/shown-receipt.js';
import type { GatewaySettings } from '../../settings.js';
import { SETTINGS_TOKEN } from '../../tokens.js';
import { MessageTemplates } from './message-templates.js';
import { MessageTokens } from './message-tokens.js';
import type { ClaimedAccount, DueMessage } from './message.repository.js';

export type Composed =
  | { kind: 'composed'; message: OutgoingMessage }
  /** It is no longer what it was planned for. */
  | { kind: 'not_sendable'; reason: string };

export interface PreviewView {
  subject: string;
  text: string;
  /** Of an e-mail. */
  html: string | null;
  /** Of an SMS: how many it is billed as. */
  parts: number;
}

interface Wanted {
  channel: MessageChannel;
  language: MessageLanguage;
  template: MessageTemplate;
  isTest: boolean;
  unsubscribeUrl: string;
}

/** A receipt as a message: the merchant's words, the link, and for an e-mail its PDF. */
@Injectable()
export class ComposeMessage {
  constructor(
    private readonly receipts: ReadShownReceipt,
    private readonly notices: ReadNotices,
    private readonly printer: PrintReceipt,
    private readonly templates: MessageTemplates,
    private readonly tokens: MessageTokens,
    @Inject(SETTINGS_TOKEN) private readonly settings: Pick<GatewaySettings, 'PUBLIC_URL'>,
  ) {}

  async compose(account: ClaimedAccount, row: DueMessage, to: string): Promise<Composed> {
    const { channel } = row;
    const language = row.language as MessageLanguage;
    const letterOf = channel === 'email' ? await this.receipts.execute(row.receipt_id, row.merchant_id) : null;
    const notice = letterOf ? noticeOf(letterOf) : await this.notices.one(row.receipt_id, row.merchant_id);
    // Only what a register has recorded is a receipt.
    if (notice?.status !== 'registered') return { kind: 'not_sendable', reason: 'not_registered' };
    const template = await this.templates.of(row.merchant_id, channel, language);
    const unsubscribeUrl = this.tokens.unsubscribeUrl(row.id);
    const wanted = { channel, language, template, unsubscribeUrl, isTest: row.source === 'test' };
    const rendered = render(notice, letterOf?.brand ?? null, wanted);
    const reports = MESSAGE_DEFINITIONS[account.provider].reports;
    const email = letterOf
      ? {
          ...{ subject: rendered.subject, html: rendered.html ?? '', unsubscribeUrl },
          messageId: `${row.id}@${new URL(this.settings.PUBLIC_URL).hostname}`,
          attachments: [await this.pdfOf(letterOf, language), ...logoOf(letterOf)],
        }
      : null;
    return {
      kind: 'composed',
      message: {
        ...{ id: row.id, to, text: rendered.text, email, isQuiet: false },
        callbackUrl: reports ? this.tokens.callbackUrl(account.id) : null,
      },
    };
  }

  /** Without anything that is sent along. */
  render(receipt: ShownReceipt, wanted: Wanted): PreviewView {
    return render(noticeOf(receipt), receipt.brand, wanted);
  }

  private async pdfOf(receipt: ShownReceipt, language: MessageLanguage): Promise<Attachment> {
    const printed = await this.printer.execute(receipt, { format: 'pdf', language, columns: 48 });
    const number = receipt.registration?.receiptSeq ?? receipt.id;
    return {
      ...{ filename: `receipt-${String(number)}.pdf`, contentType: 'application/pdf' },
      content: Buffer.from(printed.body),
    };
  }
}

/** Shown within the letter, so that nothing is fetched for it. */
function logoOf({ brand }: ShownReceipt): Attachment[] {
  if (brand.logo === null) return [];
  return [{ filename: 'logo.png', contentType: 'image/png', content: brand.logo.png, cid: LOGO_CID }];
}

const CURRENCY: Readonly<Record<MessageLanguage, string>> = { uz: 'so‘m', ru: 'сум', en: 'UZS' };

function render(
  notice: Notice,
  brand: ShownBrand | null,
  { channel, language, template, isTest, unsubscribeUrl }: Wanted,
): PreviewView {
  const facts = factsOf(notice);
  const { merchant, subject, text, parts } = renderText(channel, template, { facts, language });
  if (channel !== 'email') return { subject, text, html: null, parts };
  const content: EmailContent = {
    ...{ language, subject, text, merchant, date: facts.date, number: facts.number },
    ...{ link: facts.link, unsubscribeUrl, isTest },
    ...{ header: brand?.header ?? '', footer: brand?.footer ?? '', hasLogo: (brand?.logo ?? null) !== null },
    total: `${facts.sum} ${CURRENCY[language]}`,
  };
  return { subject, text: emailText(content), html: emailHtml(content), parts };
}

function noticeOf({ registration, document, seller, ...receipt }: ShownReceipt): Notice {
  const { id, merchantId, status, type, url } = receipt;
  return {
    ...{ id, merchantId, status, type, url, sellerName: seller.name, totalTiyin: document.totalTiyin },
    ...{ at: registration?.registeredAt ?? receipt.createdAt, receiptSeq: registration?.receiptSeq ?? null },
  };
}

function factsOf({ sellerName, type, totalTiyin, url, at, receiptSeq }: Notice): MessageFacts {
  return {
    ...{ merchant: sellerName, type, sum: sumText(totalTiyin), link: url },
    ...{ date: tashkentDayFirst(at.getTime()), number: receiptSeq === null ? '' : String(receiptSeq) },
  };
}
