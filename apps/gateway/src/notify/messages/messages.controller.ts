import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Put, Query } from '@nestjs/common';
import { CurrentCaller, type Caller } from '../../audit/caller.js';
import { ownId } from '../../http/own-id.js';
import { PageQuery, type Page } from '../../http/paging.js';
import { Scopes, StepUp } from '../../http/scopes.js';
import type { PreviewView } from './compose-message.js';
import { MessageAccounts, type MessageAccountView } from './message-accounts.js';
import {
  AccountChangeBody,
  MessagesQuery,
  NewAccountBody,
  PreviewBody,
  SendReceiptBody,
  SuppressionBody,
  TemplateBody,
  TestMessageBody,
} from './message-bodies.js';
import { MessageTemplates, type TemplateView } from './message-templates.js';
import type { MessageView } from './message-view.js';
import { PreviewMessage } from './preview-message.js';
import { ReceiptMessages } from './receipt-messages.js';
import { Suppressions, type SuppressionView } from './suppressions.js';

/** Receipts on their way to buyers. */
@Controller('v1')
export class MessagesController {
  constructor(
    private readonly messages: ReceiptMessages,
    private readonly templates: MessageTemplates,
    private readonly previews: PreviewMessage,
    private readonly suppressions: Suppressions,
  ) {}

  @Post('receipts/:id/messages')
  @HttpCode(202)
  @Scopes('messages:write')
  send(
    @CurrentCaller() { merchantId }: Caller,
    @Param('id') id: string,
    @Body() body: SendReceiptBody,
  ): Promise<MessageView> {
    return this.messages.send(merchantId, ownId('rcp', id, 'receipt'), body, { source: 'api' });
  }

  /** Newest first. */
  @Get('receipts/:id/messages')
  @Scopes('receipts:read')
  ofReceipt(
    @CurrentCaller() { merchantId }: Caller,
    @Param('id') id: string,
    @Query() query: MessagesQuery,
  ): Promise<Page<MessageView>> {
    return this.messages.ofReceipt(merchantId, ownId('rcp', id, 'receipt'), query);
  }

  /** The log of all messages, newest first. */
  @Get('messages')
  @Scopes('messages:write')
  list(@CurrentCaller() { merchantId }: Caller, @Query() query: MessagesQuery): Promise<Page<MessageView>> {
    return this.messages.ofMerchant(merchantId, query);
  }

  /** What messages say, by channel and language; also as it comes. */
  @Get('message-templates')
  @Scopes('messages:write')
  async listTemplates(@CurrentCaller() { merchantId }: Caller): Promise<Page<TemplateView>> {
    return { data: await this.templates.list(merchantId), next_cursor: null };
  }

  @Put('message-templates')
  @Scopes('messages:write')
  changeTemplate(@CurrentCaller() caller: Caller, @Body() body: TemplateBody): Promise<TemplateView> {
    return this.templates.change(caller, { ...body, text: body.text ?? null });
  }

  /** A receipt in these words, without sending it. Without `text`: in the words that stand. */
  @Post('message-templates/preview')
  @HttpCode(200)
  @Scopes('messages:write')
  preview(@CurrentCaller() { merchantId }: Caller, @Body() body: PreviewBody): Promise<PreviewView> {
    return this.previews.execute(merchantId, body);
  }

  @Get('suppressions')
  @Scopes('messages:write')
  listSuppressions(@CurrentCaller() { merchantId }: Caller, @Query() query: PageQuery): Promise<Page<SuppressionView>> {
    return this.suppressions.list(merchantId, query);
  }

  @Post('suppressions')
  @HttpCode(201)
  @Scopes('messages:write')
  addSuppression(@CurrentCaller() caller: Caller, @Body() body: SuppressionBody): Promise<SuppressionView> {
    return this.suppressions.add(caller, body);
  }

  @Delete('suppressions/:id')
  @HttpCode(204)
  @Scopes('messages:write')
  removeSuppression(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<void> {
    return this.suppressions.remove(caller, ownId('sup', id, 'suppression'));
  }
}

/** Accounts at mail servers, SMS providers and Telegram. They hold keys, and a changed one could read every receipt. */
@Controller('v1/message-accounts')
@Scopes('clients:admin')
export class MessageAccountsController {
  constructor(
    private readonly accounts: MessageAccounts,
    private readonly messages: ReceiptMessages,
  ) {}

  @Post()
  @StepUp()
  create(@CurrentCaller() caller: Caller, @Body() { provider, ...input }: NewAccountBody): Promise<MessageAccountView> {
    return this.accounts.create(caller, provider, input);
  }

  @Get()
  async list(@CurrentCaller() { merchantId }: Caller): Promise<Page<MessageAccountView>> {
    return { data: await this.accounts.list(merchantId), next_cursor: null };
  }

  @Get(':id')
  get(@CurrentCaller() { merchantId }: Caller, @Param('id') id: string): Promise<MessageAccountView> {
    return this.accounts.get(merchantId, ownId('mac', id, 'message account'));
  }

  @Patch(':id')
  @StepUp()
  change(
    @CurrentCaller() caller: Caller,
    @Param('id') id: string,
    @Body() input: AccountChangeBody,
  ): Promise<MessageAccountView> {
    return this.accounts.change(caller, ownId('mac', id, 'message account'), input);
  }

  @Delete(':id')
  @StepUp()
  @HttpCode(204)
  remove(@CurrentCaller() caller: Caller, @Param('id') id: string): Promise<void> {
    return this.accounts.remove(caller, ownId('mac', id, 'message account'));
  }

  /** A registered receipt to an address of the caller's own, marked as a test. */
  @Post(':id/test')
  @HttpCode(202)
  async test(
    @CurrentCaller() { merchantId }: Caller,
    @Param('id') id: string,
    @Body() { to, receipt_id: receiptId, language }: TestMessageBody,
  ): Promise<MessageView> {
    const { channel } = await this.accounts.get(merchantId, ownId('mac', id, 'message account'));
    const body = { channel, to, ...(language !== undefined && { language }) };
    return this.messages.send(merchantId, receiptId, body, { source: 'test' });
  }
}
