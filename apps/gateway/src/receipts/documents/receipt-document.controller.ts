import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Answers } from '#runtime';
import { CurrentClient, type AuthenticatedClient } from '../../http/current-client.js';
import { ownId } from '../../http/own-id.js';
import { OwnTurn, Scopes } from '../../http/scopes.js';
import { DocumentQuery, documentWish } from './document-query.js';
import { PrintReceipt } from './print-receipt.js';
import { ReadShownReceipt } from './read-shown-receipt.js';

@Controller('v1/receipts')
export class ReceiptDocumentController {
  constructor(
    private readonly receipts: ReadShownReceipt,
    private readonly printer: PrintReceipt,
  ) {}

  /** The receipt as its buyer may have it: page, PDF, picture, text or bytes for a printer (`escpos`), by `format` or the Accept header. */
  @OwnTurn()
  @Get(':id/document')
  @Scopes('receipts:read')
  @Answers({
    statuses: [200],
    mediaTypes: ['text/html', 'application/pdf', 'image/png', 'text/plain', 'application/octet-stream'],
  })
  async document(
    @CurrentClient() client: AuthenticatedClient,
    @Param('id') id: string,
    @Query() query: DocumentQuery,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const wish = documentWish(query, reply.request.headers);
    const receiptId = ownId('rcp', id, 'receipt');
    const receipt = await this.receipts.execute(receiptId, client.merchantId);
    if (!receipt) throw await this.receipts.missing(receiptId, client.merchantId);
    const printed = await this.printer.execute(receipt, wish);
    await reply.headers(printed.headers).send(printed.body);
  }
}
