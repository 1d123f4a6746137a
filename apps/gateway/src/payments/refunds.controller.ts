import { Controller, Get, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { formatQuantity, leftOf, thousandths, type LineLeft } from '#fiscal-domain';
import { Answers, Takes } from '#runtime';
import { callerOf } from '../http/caller-gone.js';
import { CurrentClient, type AuthenticatedClient } from '../http/current-client.js';
import { ownId } from '../http/own-id.js';
import { pageOf, PageQuery, pageRequest, type Page } from '../http/paging.js';
import { Scopes } from '../http/scopes.js';
import { readIdempotencyKey } from '../receipts/idempotency-key.js';
import { refundArchived } from '../receipts/missing-receipt.js';
import { waitSeconds } from '../receipts/prefer-header.js';
import { answerFor } from '../receipts/receipt-answer.js';
import { ReceiptUrls } from '../receipts/receipt-url.js';
import { receiptView, type ReceiptView } from '../receipts/receipt-view.js';
import { ReceiptRepository } from '../receipts/receipt.repository.js';
import { optionalBody } from '../http/optional-body.js';
import { RefundBody } from '../receipts/refunds/refund-body.js';
import { RefundReceipt } from '../receipts/refunds/refund-receipt.js';
import { RefundRepository } from '../receipts/refunds/refund.repository.js';
import { payBackRefund } from './pay-back-refund.js';

/** What a sale has left to refund; refunds on their way count as done. */
interface LeftView {
  total: number;
  vat_total: number;
  /** One entry per line of the sale; none when it is no sale. */
  lines: { line: number; qty: number; total: number; vat: number; labels: string[] }[];
}

@Controller('v1/receipts/:id/refunds')
export class RefundsController {
  constructor(
    private readonly refundReceipt: RefundReceipt,
    private readonly refunds: RefundRepository,
    private readonly receipts: ReceiptRepository,
    private readonly urls: ReceiptUrls,
  ) {}

  @Post()
  @HttpCode(201)
  @Takes(RefundBody)
  @Answers({ statuses: [200, 201, 202] })
  @Scopes('refunds:write')
  async create(
    @CurrentClient() client: AuthenticatedClient,
    @Param('id') id: string,
    @Req() { headers, body }: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ReceiptView> {
    const { row, replayed } = await this.refundReceipt.execute({
      merchantId: client.merchantId,
      clientId: client.clientId,
      saleId: ownId('rcp', id, 'receipt'),
      idempotencyKey: readIdempotencyKey(one(headers['idempotency-key']), client),
      body: optionalBody(body, RefundBody),
      waitSeconds: waitSeconds(one(headers['prefer'])),
      isCallerGone: callerOf(reply.request),
      payBack: payBackRefund,
    });
    if (replayed) reply.header('Idempotency-Replayed', 'true');
    const answer = answerFor(row);
    if (answer.kind === 'rejected') throw answer.problem;
    reply.status(answer.status).headers(answer.headers);
    return receiptView(row, this.urls.urlOf(row.id));
  }

  @Get()
  @Scopes('receipts:read')
  async list(
    @CurrentClient() client: AuthenticatedClient,
    @Param('id') id: string,
    @Query() query: PageQuery,
  ): Promise<Page<ReceiptView> & { left: LeftView }> {
    const saleId = ownId('rcp', id, 'receipt');
    const page = pageRequest(query, 'rcp');
    const sale = await this.receipts.find(client.merchantId, saleId);
    if (!sale) throw await this.receipts.missing(client.merchantId, saleId);
    const rows = await this.refunds.list(client.merchantId, saleId, page);
    const { documents: ledger, archive } = await this.refunds.readLedger(saleId);
    if (archive !== null) throw refundArchived(archive);
    const left = leftOf(
      sale.type === 'sale' ? sale.document.lines : [],
      ledger.flatMap(({ lines }) => lines),
    );
    return {
      ...pageOf(rows, page.limit, (row) => receiptView(row, this.urls.urlOf(row.id))),
      left: leftView(left),
    };
  }
}

/** Node joins what came more than once, but for a few headers that are none of these. */
function one(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(', ') : header;
}

function leftView(left: readonly LineLeft[]): LeftView {
  return {
    total: left.reduce((sum, { totalTiyin }) => sum + totalTiyin, 0),
    vat_total: left.reduce((sum, { vatTiyin }) => sum + vatTiyin, 0),
    lines: left.map(({ line, quantityThousandths, totalTiyin, vatTiyin, labels }) => ({
      line,
      qty: quantityThousandths > 0 ? Number(formatQuantity(thousandths(quantityThousandths))) : 0,
      total: totalTiyin,
      vat: vatTiyin,
      labels,
    })),
  };
}
