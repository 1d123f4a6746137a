import { Body, Controller, Get, Headers, HttpCode, Param, Post, Res, UseInterceptors } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { ReceiptRow } from '#ledger';
import { Answers } from '#runtime';
import { QuotaHeaders } from '../fleet/usage/quota-headers.js';
import { callerOf } from '../http/caller-gone.js';
import { CurrentClient, type AuthenticatedClient } from '../http/current-client.js';
import { ownId } from '../http/own-id.js';
import { insufficientScope } from '../http/bearer-problems.js';
import { AlsoWhenSuspended, Scopes } from '../http/scopes.js';
import { CollectPayment } from './collect-payment.js';
import { AcceptTimes } from '../receipts/accept-metrics.js';
import { CancelReceipt } from '../receipts/cancel-receipt.js';
import { CreateReceipt, type CreatedReceipt, type CreateReceiptCommand } from '../receipts/create-receipt.js';
import { readIdempotencyKey } from '../receipts/idempotency-key.js';
import { waitSeconds } from '../receipts/prefer-header.js';
import { answerFor } from '../receipts/receipt-answer.js';
import { ReceiptBody } from '../receipts/receipt-body.js';
import { receiptView, type ReceiptView } from '../receipts/receipt-view.js';
import { ReceiptUrls } from '../receipts/receipt-url.js';
import { ReceiptRepository } from '../receipts/receipt.repository.js';

@Controller('v1/receipts')
export class ReceiptsController {
  constructor(
    private readonly createReceipt: CreateReceipt,
    private readonly collecting: CollectPayment,
    private readonly cancelReceipt: CancelReceipt,
    private readonly receipts: ReceiptRepository,
    private readonly urls: ReceiptUrls,
    private readonly times: AcceptTimes,
  ) {}

  @Post()
  @UseInterceptors(QuotaHeaders)
  @HttpCode(201)
  @Answers({ statuses: [200, 201, 202] })
  @Scopes('receipts:write')
  async create(
    @CurrentClient() client: AuthenticatedClient,
    @Headers() headers: Record<string, string | undefined>,
    @Body() body: ReceiptBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ReceiptView> {
    const command = {
      merchantId: client.merchantId,
      clientId: client.clientId,
      idempotencyKey: readIdempotencyKey(headers['idempotency-key'], client),
      body,
      waitSeconds: waitSeconds(headers['prefer']),
      isCallerGone: callerOf(reply.request),
      onStored: () => this.times.stored(reply),
    };
    const isOnline = body.payment.method === 'online';
    const created = isOnline ? await this.collect(client, command) : await this.createReceipt.execute(command);
    const { row } = created;
    if (created.replayed) reply.header('Idempotency-Replayed', 'true');
    const answer = answerFor(row);
    if (answer.kind === 'rejected') throw answer.problem;
    reply.status(answer.status).headers(answer.headers);
    return this.viewOf(row);
  }

  @Get(':id')
  @Scopes('receipts:read')
  async read(@CurrentClient() client: AuthenticatedClient, @Param('id') id: string): Promise<ReceiptView> {
    const row = await this.receipts.find(client.merchantId, ownId('rcp', id, 'receipt'));
    if (!row) throw await this.receipts.missing(client.merchantId, id);
    return this.viewOf(row);
  }

  @Post(':id/cancel')
  @AlsoWhenSuspended()
  @HttpCode(200)
  @Scopes('receipts:write')
  async cancel(@CurrentClient() client: AuthenticatedClient, @Param('id') id: string): Promise<ReceiptView> {
    return this.viewOf(await this.cancelReceipt.execute(client.merchantId, ownId('rcp', id, 'receipt')));
  }

  /** The gateway is to take the money: GET /v1/payments/{payment_id} says what the customer does next. */
  private async collect(client: AuthenticatedClient, command: CreateReceiptCommand): Promise<CreatedReceipt> {
    if (!client.scopes.includes('payments:write')) throw insufficientScope(['payments:write']);
    const { row, replayed } = await this.collecting.execute(command, 'receipts');
    const receipt = await this.receipts.find(client.merchantId, row.receipt_id);
    if (!receipt) throw await this.receipts.gone(client.merchantId, row.receipt_id);
    return { row: receipt, replayed };
  }

  private viewOf(row: ReceiptRow): ReceiptView {
    return receiptView(row, this.urls.urlOf(row.id));
  }
}
