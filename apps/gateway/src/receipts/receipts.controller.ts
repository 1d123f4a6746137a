import { Body, Controller, Get, Headers, HttpCode, Param, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Answers } from '#runtime';
import { CurrentClient, type AuthenticatedClient } from '../http/current-client.js';
import { notFound, ownId } from '../http/own-id.js';
import { Scopes } from '../http/scopes.js';
import { CancelReceipt } from './cancel-receipt.js';
import { CreateReceipt } from './create-receipt.js';
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
    private readonly cancelReceipt: CancelReceipt,
    private readonly receipts: ReceiptRepository,
    private readonly urls: ReceiptUrls,
  ) {}

  @Post()
  @HttpCode(201)
  @Answers({ statuses: [200, 201, 202] })
  @Scopes('receipts:write')
  async create(
    @CurrentClient() client: AuthenticatedClient,
    @Headers() headers: Record<string, string | undefined>,
    @Body() body: ReceiptBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ReceiptView> {
    const created = await this.createReceipt.execute({
      merchantId: client.merchantId,
      clientId: client.clientId,
      idempotencyKey: readIdempotencyKey(headers['idempotency-key'], client),
      body,
      waitSeconds: waitSeconds(headers['prefer']),
    });
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
    if (!row) throw notFound('receipt');
    return this.viewOf(row);
  }

  @Post(':id/cancel')
  @HttpCode(200)
  @Scopes('receipts:write')
  async cancel(@CurrentClient() client: AuthenticatedClient, @Param('id') id: string): Promise<ReceiptView> {
    return this.viewOf(await this.cancelReceipt.execute(client.merchantId, ownId('rcp', id, 'receipt')));
  }

  private viewOf(row: ReceiptRow): ReceiptView {
    return receiptView(row, this.urls.urlOf(row.id));
  }
}
