import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { tap, type Observable } from 'rxjs';
import { addLimit } from '../../access/limits/limit-headers.js';
import { clientOf } from '../../http/current-client.js';
import { MerchantUsage } from './merchant-usage.js';

const DAY_S = 86_400;

/** On handlers that accept sales: what is left of the merchant's receipts of today, beside the limits of requests. */
@Injectable()
export class QuotaHeaders implements NestInterceptor {
  constructor(private readonly usage: MerchantUsage) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const merchantId = clientOf(http.getRequest<FastifyRequest>())?.merchantId;
    if (merchantId === undefined) return next.handle();
    const show = (): void => this.show(http.getResponse<FastifyReply>(), merchantId);
    return next.handle().pipe(tap({ next: show, error: show }));
  }

  private show(reply: FastifyReply, merchantId: string): void {
    const quota = this.usage.leftToday(merchantId);
    if (!quota) return;
    addLimit(reply, 'ratelimit-policy', `"receipts-day";q=${quota.limit};w=${DAY_S}`);
    addLimit(reply, 'ratelimit', `"receipts-day";r=${quota.left};t=${Math.ceil(quota.resetMs / 1_000)}`);
  }
}
