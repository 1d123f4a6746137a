import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { finalize, type Observable } from 'rxjs';
import { Problem } from '#problems';
import { FairSlots, type FairSlotsOptions } from '#runtime';
import { callerGone, callerOf } from '../../http/caller-gone.js';
import { clientOf, shareOf } from '../../http/current-client.js';

/**
 * A page costs a gateway's only thread milliseconds, and a limit of requests a second counts it like a refusal. Four at a time keep
 * the reading of one merchant quick, and hold up the others' calls by four pages at most. Each worker of a gateway counts its own.
 */
const READS: FairSlotsOptions = { total: 16, perKey: 4, reserved: 4, waitingPerKey: 256, waiting: 2_048 };

/**
 * Reads at work, divided by merchant, and by person where one reads about itself or the platform: more connections are no larger share.
 * Writes take no turn: accepting many at once is what makes it cheap. Nor does what has a bound of its own (`@OwnTurn`).
 */
@Injectable()
export class ReadTurns implements NestInterceptor {
  private readonly slots = new FairSlots(READS);

  /**
   * The turn ends with the handler's work, and not with the connection: a caller that hangs up would have more than its share.
   * @throws Problem 429 too_many_requests; 503 when the caller has gone meanwhile
   */
  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const client = clientOf(request);
    if (!isRead || !client || request.routeOptions.config.ownTurn === true) return next.handle();
    const release = await this.slots.take(shareOf(client));
    if (!release) {
      const detail = 'More reads of this merchant wait than are kept waiting.';
      throw new Problem('too_many_requests', detail, { retryAfterSeconds: 1 });
    }
    if (!callerOf(request)()) return next.handle().pipe(finalize(release));
    release();
    throw callerGone();
  }
}
