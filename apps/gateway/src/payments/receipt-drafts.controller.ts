import { Body, Controller, Headers, HttpCode, Post, Req, UseInterceptors } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { BODY_LIMIT_BYTES, BodyLimit, preferredLanguage, problemDocument, statusOf, type ProblemDocument } from '#http';
import { Problem, type ProblemError } from '#problems';
import { QuotaHeaders } from '../fleet/usage/quota-headers.js';
import { callerOf } from '../http/caller-gone.js';
import { CurrentClient, type AuthenticatedClient } from '../http/current-client.js';
import { insufficientScope } from '../http/bearer-problems.js';
import { Scopes } from '../http/scopes.js';
import { PaymentRequestBody } from './payment-request-body.js';
import { PreparePayment, type PreparedPayment } from './prepare-payment.js';
import { BatchBody } from '../receipts/batch-body.js';
import { CreateBatch, type BatchResult } from '../receipts/create-batch.js';
import { PrepareReceipt } from '../receipts/prepare-receipt.js';
import type { ReceiptBody } from '../receipts/receipt-body.js';
import { answerFor } from '../receipts/receipt-answer.js';
import { documentView, receiptView, type DocumentView, type ReceiptView } from '../receipts/receipt-view.js';
import { ReceiptUrls } from '../receipts/receipt-url.js';

/** What a sale would become: a receipt's fields, without what only storing and registering give it. */
interface ValidatedView extends DraftView {
  valid: true;
  /** Of a payment for several receipts: the others. */
  further_receipts: DraftView[];
}

interface DraftView extends DocumentView {
  external_id: string | null;
  /** Null: the payment provider registers it. */
  device_id: string | null;
  branch_id: string;
  cashier_id: string;
}

interface BatchEntry {
  external_id: string | null;
  /** As POST /v1/receipts would have answered. */
  status: number;
  replayed: boolean;
  receipt: ReceiptView | null;
  /** Pointers are into this receipt's own body. */
  problem: ProblemDocument | null;
}

/** Of batch and catalogue calls. */
const BATCH_LIMIT_BYTES = 4 * 1024 * 1024;

const ONE_RECEIPT: ProblemError = {
  pointer: '/further_receipts',
  code: 'invalid_value',
  detail: 'Only money that the gateway collects can be for several receipts.',
};

/** Receipts before they are one, and many at once. */
@Controller('v1/receipts')
@Scopes('receipts:write')
export class ReceiptDraftsController {
  constructor(
    private readonly prepareReceipt: PrepareReceipt,
    private readonly preparePayment: PreparePayment,
    private readonly createBatch: CreateBatch,
    private readonly urls: ReceiptUrls,
  ) {}

  /**
   * The same checks as POST /v1/receipts, those of a payment that goes with it included, and nothing is stored: no key, no
   * external_id is taken.
   */
  @Post('validate')
  @HttpCode(200)
  async validate(
    @CurrentClient() client: AuthenticatedClient,
    @Body() body: PaymentRequestBody,
  ): Promise<ValidatedView> {
    const { route, document, further } = await this.prepare(client, body);
    return {
      valid: true,
      ...draftView(body, route, document),
      further_receipts: further.map((each) => draftView(each.body, each.route, each.document)),
    };
  }

  private async prepare(
    client: AuthenticatedClient,
    body: PaymentRequestBody,
  ): Promise<Pick<PreparedPayment, 'route' | 'document' | 'further'>> {
    if (body.payment.method === 'online') {
      if (!client.scopes.includes('payments:write')) throw insufficientScope(['payments:write']);
      return this.preparePayment.prepare(client.merchantId, body);
    }
    if ((body.further_receipts ?? null) !== null) throw Problem.fromErrors([ONE_RECEIPT]);
    const prepared = await this.prepareReceipt.prepare(client.merchantId, body);
    if (prepared.kind === 'refused') throw prepared.problem;
    return { ...prepared, further: [] };
  }

  @Post('batch')
  @UseInterceptors(QuotaHeaders)
  @HttpCode(200)
  @BodyLimit(BATCH_LIMIT_BYTES)
  async batch(
    @CurrentClient() client: AuthenticatedClient,
    @Body() body: BatchBody,
    @Headers('accept-language') language: string | undefined,
    @Req() request: FastifyRequest,
  ): Promise<{ data: BatchEntry[] }> {
    const { merchantId, clientId } = client;
    const isCallerGone = callerOf(request);
    const results = await this.createBatch.execute({
      merchantId,
      clientId,
      receipts: body.receipts,
      isCallerGone,
      maxReceiptBytes: BODY_LIMIT_BYTES,
    });
    return {
      data: results.map((result) =>
        this.entryOf(result, (problem) => problemDocument(problem, request.id, preferredLanguage(language))),
      ),
    };
  }

  /** As POST /v1/receipts would have answered; both receipt and problem for one that its register refused. */
  private entryOf(result: BatchResult, show: (problem: Problem) => ProblemDocument): BatchEntry {
    const entry = { external_id: result.externalId, replayed: false, receipt: null };
    if (result.kind === 'refused') {
      return { ...entry, status: statusOf(result.problem), problem: show(result.problem) };
    }
    const { row, replayed } = result;
    const answer = answerFor(row);
    const shown = { ...entry, replayed, receipt: receiptView(row, this.urls.urlOf(row.id)) };
    return answer.kind === 'rejected'
      ? { ...shown, status: statusOf(answer.problem), problem: show(answer.problem) }
      : { ...shown, status: answer.status, problem: null };
  }
}

function draftView(
  body: ReceiptBody,
  route: PreparedPayment['route'],
  document: PreparedPayment['document'],
): DraftView {
  return {
    ...documentView(document),
    external_id: body.external_id ?? null,
    device_id: route.deviceId,
    branch_id: route.branchId,
    cashier_id: route.cashierId,
  };
}
