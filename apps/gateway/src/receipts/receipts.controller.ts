import { Body, Controller, Get, Headers, HttpCode, Param, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { isId } from '#fiscal-domain';
import { Problem } from '#runtime';
import { CurrentClient, type AuthenticatedClient } from '../http/current-client.js';
import { Scopes } from '../http/scopes.js';
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
    return receiptView(row, this.urls.urlOf(row.id));
  }

  @Get(':id')
  @Scopes('receipts:read')
  async read(@CurrentClient() client: AuthenticatedClient, @Param('id') id: string): Promise<ReceiptView> {
    const row = await this.find(client, id);
    return receiptView(row, this.urls.urlOf(row.id));
  }

  private async find(client: AuthenticatedClient, id: string): Promise<ReceiptRow> {
    const row = isId('rcp', id) ? await this.receipts.find(client.merchantId, id) : null;
    if (!row) throw new Problem('not_found', 'There is no receipt with this id.');
    return row;
  }
}
