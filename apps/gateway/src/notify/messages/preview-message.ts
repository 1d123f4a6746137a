import { Injectable } from '@nestjs/common';
import { ownId } from '../../http/own-id.js';
import { ReadShownReceipt } from '../../receipts/documents/read-shown-receipt.js';
import { ComposeMessage, type PreviewView } from './compose-message.js';
import type { PreviewBody } from './message-bodies.js';
import { checkedTemplate, MessageTemplates } from './message-templates.js';

/** What a message would say. */
@Injectable()
export class PreviewMessage {
  constructor(
    private readonly receipts: ReadShownReceipt,
    private readonly templates: MessageTemplates,
    private readonly composer: ComposeMessage,
  ) {}

  /** @throws Problem 404, 422 */
  async execute(merchantId: string, body: PreviewBody): Promise<PreviewView> {
    const { channel, language, text = null } = body;
    const given = text === null ? null : checkedTemplate({ ...body, text });
    const receiptId = ownId('rcp', body.receipt_id, 'receipt');
    const receipt = await this.receipts.execute(receiptId, merchantId);
    if (!receipt) throw await this.receipts.missing(receiptId, merchantId);
    const template = given ?? (await this.templates.of(merchantId, channel, language));
    // An address that ends nothing: no message belongs to it.
    const unsubscribeUrl = new URL('/u/preview', receipt.url).href;
    return this.composer.render(receipt, { channel, language, template, isTest: true, unsubscribeUrl });
  }
}
