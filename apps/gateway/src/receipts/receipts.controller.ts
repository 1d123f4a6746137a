import { Body, Controller, Get, Headers, HttpCode, Param, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { isId } from '#fiscal-domain';
import { Problem } from '#runtime';
import { CurrentClient, type AuthenticatedClient } from '../http/current-client.js';
import { insufficientScope } from '../http/bearer-problems.js';
import { Scopes } from '../http/scopes.js';
import { CollectPayment } from '../payments/collect-payment.js';
import { CreateReceipt, type CreatedReceipt, type CreateReceiptCommand } from './create-receipt.js';
import { readIdempotencyKey } from './idempotency-key.js';
import { waitSeconds } from './prefer-header.js';
import { answerFor } from './receipt-answer.js';
import { ReceiptBody } from './receipt-body.js';
import { receiptView, type ReceiptView } from './receipt-view.js';
import { ReceiptUrls } from './receipt-url.js';
import { ReceiptRepository, type ReceiptRow } from './receipt.repository.js';

@Controller('v1/receipts')
export class ReceiptsController {
  constructor(
    private readonly createReceipt: CreateReceipt,
    private readonly collecting: CollectPayment,
    private readonly receipts: ReceiptRepository,
    private readonly urls: ReceiptUrls,
  ) {}

  @Post()
  @HttpCode(201)
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
    };
    const isOnline = body.payment.method === 'online';
    const created = isOnline ? await this.collect(client, command) : await this.createReceipt.execute(command);
    const { row } = created;
    if (created.replayed) reply.header('Idempotency-Replayed', 'true');
    const answer = answerFor(row);
    if (answer.kind === 'rejected') throw answer.problem;
    reply.status(answer.status).headers(answer.headers);
    return receiptView(row, this.urls.urlOf(row.id));
  }

  @Get(':id')
  @Scopes('receipts:read')
  async read(@CurrentClient() client: AuthenticatedClient, @Param('id') id: string): Promise<ReceiptView> {
    const row = await this.find(client, id);
    return receiptView(row, this.urls.urlOf(row.id));
  }

  /** The gateway is to take the money: receipt and payment in one; GET /v1/payments/{payment_id} says what the customer does next. */
  private async collect(client: AuthenticatedClient, command: CreateReceiptCommand): Promise<CreatedReceipt> {
    if (!client.scopes.includes('payments:write')) throw insufficientScope(['payments:write']);
    const { row, replayed } = await this.collecting.execute(command, 'receipts');
    const receipt = await this.receipts.find(client.merchantId, row.receipt_id);
    if (!receipt) throw new Error(`Receipt ${row.receipt_id} was stored and cannot be read`);
    return { row: receipt, replayed };
  }

  private async find(client: AuthenticatedClient, id: string): Promise<ReceiptRow> {
    const row = isId('rcp', id) ? await this.receipts.find(client.merchantId, id) : null;
    if (!row) throw new Problem('not_found', 'There is no receipt with this id.');
    return row;
  }
}
