import { Body, Controller, Get, Headers, HttpCode, Param, Post, Query, Res, UseInterceptors } from '@nestjs/common';
import { IsBoolean, Matches } from 'class-validator';
import type { FastifyReply } from 'fastify';
import { Problem } from '#problems';
import { QuotaHeaders } from '../fleet/usage/quota-headers.js';
import { callerOf } from '../http/caller-gone.js';
import { CurrentClient, type AuthenticatedClient } from '../http/current-client.js';
import { ownId } from '../http/own-id.js';
import { pageOf, PageQuery, pageRequest, type Page } from '../http/paging.js';
import { AlsoWhenSuspended, Scopes } from '../http/scopes.js';
import { readIdempotencyKey } from '../receipts/idempotency-key.js';
import { waitSeconds } from '../receipts/prefer-header.js';
import { receiptView } from '../receipts/receipt-view.js';
import { ReceiptUrls } from '../receipts/receipt-url.js';
import { ReceiptRepository } from '../receipts/receipt.repository.js';
import { ChangePayment } from './change-payment.js';
import { CollectPayment } from './collect-payment.js';
import { PaymentRequestBody } from './payment-request-body.js';
import { paymentView, type PaymentRow, type PaymentView } from './payment-view.js';
import { Reconciliation, type Disagreement } from './reconciliation.js';
import { PaymentsQuery, SearchPayments, type PaymentSummary } from './search-payments.js';

class DeliveredBody {
  /** False: it was not, or came back. */
  @IsBoolean()
  delivered!: boolean;
}

class ConfirmBody {
  /** What the provider has sent to the customer. */
  @Matches(/^\d{4,8}$/)
  otp!: string;
}

@Controller('v1/payments')
export class PaymentsController {
  constructor(
    private readonly collecting: CollectPayment,
    private readonly changing: ChangePayment,
    private readonly payments: SearchPayments,
    private readonly receipts: ReceiptRepository,
    private readonly urls: ReceiptUrls,
    private readonly reconciliation: Reconciliation,
  ) {}

  @Post()
  @UseInterceptors(QuotaHeaders)
  @Scopes('payments:write')
  async create(
    @CurrentClient() client: AuthenticatedClient,
    @Headers() headers: Record<string, string | undefined>,
    @Body() body: PaymentRequestBody,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PaymentView> {
    if (body.payment.method !== 'online') {
      const detail =
        'A payment is collected by the method "online"; money that has been taken belongs to POST /v1/receipts.';
      throw Problem.at('/payment/method', 'payment_method_unsupported', detail);
    }
    const command = {
      ...{ merchantId: client.merchantId, clientId: client.clientId, body },
      idempotencyKey: readIdempotencyKey(headers['idempotency-key'], client),
      waitSeconds: waitSeconds(headers['prefer']),
      isCallerGone: callerOf(reply.request),
    };
    const { row, replayed } = await this.collecting.execute(command, 'payments');
    if (replayed) reply.header('Idempotency-Replayed', 'true');
    const view = await this.viewOf(client, row);
    reply.status(statusFor(view)).header('Location', `/v1/payments/${row.id}`);
    if (statusFor(view) === 202) reply.header('Retry-After', '2');
    return view;
  }

  /** Newest first. With a filter a page may hold fewer than `limit` although more follow: go by `next_cursor`. */
  @Get()
  @Scopes('payments:read')
  list(@CurrentClient() client: AuthenticatedClient, @Query() query: PaymentsQuery): Promise<Page<PaymentSummary>> {
    return this.payments.page(client.merchantId, query);
  }

  @Get('reconciliation')
  @Scopes('payments:read')
  async reconcile(
    @CurrentClient() client: AuthenticatedClient,
    @Query() query: PageQuery,
  ): Promise<Page<Disagreement>> {
    const request = pageRequest(query, 'pay');
    const found = await this.reconciliation.list(client.merchantId, request);
    return pageOf(found, request.limit, ({ id, ...rest }) => ({ id, ...rest }));
  }

  @Get(':id')
  @Scopes('payments:read')
  async read(@CurrentClient() client: AuthenticatedClient, @Param('id') id: string): Promise<PaymentView> {
    return this.find(client, ownId('pay', id, 'payment'));
  }

  @Post(':id/cancel')
  @AlsoWhenSuspended()
  @HttpCode(200)
  @Scopes('payments:write')
  async cancel(@CurrentClient() client: AuthenticatedClient, @Param('id') id: string): Promise<PaymentView> {
    await this.changing.cancel(client.merchantId, ownId('pay', id, 'payment'));
    return this.find(client, id);
  }

  @Post(':id/capture')
  @AlsoWhenSuspended()
  @HttpCode(200)
  @Scopes('payments:write')
  async capture(@CurrentClient() client: AuthenticatedClient, @Param('id') id: string): Promise<PaymentView> {
    await this.changing.capture(client.merchantId, ownId('pay', id, 'payment'));
    return this.find(client, id);
  }

  /** All that is left of a payment for several receipts; each is refunded once the money is back. */
  @Post(':id/refunds')
  @AlsoWhenSuspended()
  @HttpCode(200)
  @Scopes('refunds:write')
  async refund(@CurrentClient() client: AuthenticatedClient, @Param('id') id: string): Promise<PaymentView> {
    await this.changing.refundWhole(client.merchantId, ownId('pay', id, 'payment'));
    return this.find(client, id);
  }

  @Post(':id/confirm')
  @AlsoWhenSuspended()
  @HttpCode(200)
  @Scopes('payments:write')
  async confirm(
    @CurrentClient() client: AuthenticatedClient,
    @Param('id') id: string,
    @Body() { otp }: ConfirmBody,
  ): Promise<PaymentView> {
    await this.changing.confirm(client.merchantId, ownId('pay', id, 'payment'), otp);
    return this.find(client, id);
  }

  @Post(':id/delivered')
  @AlsoWhenSuspended()
  @HttpCode(200)
  @Scopes('payments:write')
  async deliver(
    @CurrentClient() client: AuthenticatedClient,
    @Param('id') id: string,
    @Body() { delivered }: DeliveredBody,
  ): Promise<PaymentView> {
    await this.changing.deliver(client.merchantId, ownId('pay', id, 'payment'), delivered);
    return this.find(client, id);
  }

  private async find(client: AuthenticatedClient, id: string): Promise<PaymentView> {
    return this.viewOf(client, await this.payments.find(client.merchantId, id));
  }

  private async viewOf({ merchantId }: AuthenticatedClient, row: PaymentRow): Promise<PaymentView> {
    const [receipt, ...further] = await Promise.all(
      [row.receipt_id, ...row.further_receipts].map(async (id) => {
        const found = await this.receipts.find(merchantId, id);
        if (!found) throw await this.receipts.gone(merchantId, id);
        return receiptView(found, this.urls.urlOf(id));
      }),
    );
    if (!receipt) throw new Error(`payment ${row.id} has no receipt`);
    return paymentView(row, receipt, further);
  }
}

/** 201: money and every receipt are there. 202: on the way. 200: it ended without money. */
function statusFor({ status, receipt, further_receipts: further }: PaymentView): 200 | 201 | 202 {
  const areRegistered = [receipt, ...further].every((each) => each.status === 'registered');
  if (status === 'captured' && areRegistered) return 201;
  return ['declined', 'expired', 'cancelled', 'voided', 'refunded'].includes(status) ? 200 : 202;
}
