import { Injectable } from '@nestjs/common';
import { GuardedFetch, systemClock, type GuardedAnswer } from '#runtime';
import { eventView } from '../events/event-row.js';
import {
  DeliveryRepository,
  type AfterAttempt,
  type AttemptRecord,
  type ClaimedEndpoint,
  type DueDelivery,
} from './delivery.repository.js';
import { pauseMs, readRetryAfterMs, retryDelayMs } from './delivery-schedule.js';
import { DisableEndpoint } from './disable-endpoint.js';
import { signatureHeaders } from './sign-webhook.js';
import { WebhookSecrets } from './webhook-secrets.js';

/** To one receiver at the same time; to one that fails a single one, to see whether it is back. */
const AT_ONCE = 8;
const TIMEOUT_MS = 10_000;
/** Well within the lease, with a last round's deadline. */
const TURN_MS = 5_000;
/** Characters of an answer that are kept. */
const KEPT_ANSWER = 512;
const MAX_ANSWER_BYTES = 4_096;
const GONE = 410;

type Result = 'delivered' | 'failed' | 'gone';

/** Sends what is due for one endpoint, for a while, and lets it go. */
@Injectable()
export class SendDeliveries {
  constructor(
    private readonly deliveries: DeliveryRepository,
    private readonly secrets: WebhookSecrets,
    private readonly fetch: GuardedFetch,
    private readonly disable: DisableEndpoint,
  ) {}

  /** @param stopping no further round begins */
  async execute(endpoint: ClaimedEndpoint, stopping: AbortSignal): Promise<void> {
    const endAtMs = systemClock.monotonicMs() + TURN_MS;
    let result: 'succeeded' | 'failed' | 'nothing' = 'nothing';
    while (result !== 'failed' && !stopping.aborted && systemClock.monotonicMs() < endAtMs) {
      const due = await this.deliveries.due(endpoint.id, endpoint.is_failing && result === 'nothing' ? 1 : AT_ONCE);
      if (due.length === 0) break;
      const secrets = await this.secrets.signing(endpoint.kind === 'endpoint' ? endpoint.id : endpoint.merchant_id);
      if (secrets.length === 0) {
        await this.giveUpUnsigned(due);
        continue;
      }
      const results = await Promise.all(due.map((delivery) => this.send(endpoint, delivery, secrets)));
      if (results.includes('gone') && endpoint.kind === 'endpoint') {
        await this.disable.execute(endpoint, 'the receiver answered 410 Gone');
        return;
      }
      result = results.includes('delivered') ? 'succeeded' : 'failed';
    }
    const isGivenUp = await this.deliveries.release(endpoint, result, pauseMs(endpoint.failures + 1, Math.random()));
    if (isGivenUp && endpoint.kind === 'endpoint') {
      await this.disable.execute(endpoint, 'nothing could be delivered for five days');
    }
  }

  /** Only callbacks of receipts that are older than the rule that one must have been shown the secret first. */
  private async giveUpUnsigned(due: readonly DueDelivery[]): Promise<void> {
    const answer = 'nobody has been shown the secret that signs callbacks';
    for (const { delivery_id: deliveryId, attempt_count: tried } of due) {
      const attempt = { deliveryId, number: tried + 1, durationMs: 0, outcome: 'not_sent', httpStatus: null, answer };
      await this.deliveries.record(attempt, { kind: 'given_up' });
    }
  }

  /**
   * One try. Crash windows: before the request nothing has happened; between the request and the record the receiver has it
   * and gets it again, with the same id, when the lease has ended: at least once.
   */
  private async send(endpoint: ClaimedEndpoint, due: DueDelivery, secrets: readonly string[]): Promise<Result> {
    const body = JSON.stringify(eventView(due));
    const timestampSeconds = Math.floor(systemClock.now().getTime() / 1_000);
    const begunMs = systemClock.monotonicMs();
    const answer = await this.fetch.send({
      url: endpoint.kind === 'endpoint' ? endpoint.url : due.url,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'fiscal-receipt-gateway',
        ...signatureHeaders({ id: due.id, timestampSeconds, body }, secrets),
      },
      body,
      ...{ timeoutMs: TIMEOUT_MS, maxAnswerBytes: MAX_ANSWER_BYTES },
    });
    const durationMs = Math.round(systemClock.monotonicMs() - begunMs);
    const number = due.attempt_count + 1;
    const result = resultOf(answer);
    const attempt = { deliveryId: due.delivery_id, number, durationMs, ...recordOf(answer) };
    await this.deliveries.record(attempt, afterwards(result, { endpoint, number, answer }));
    return result;
  }
}

/** 2xx alone is success; a redirect is not followed and fails. */
function resultOf(answer: GuardedAnswer): Result {
  if (answer.kind !== 'answered') return 'failed';
  if (answer.status >= 200 && answer.status <= 299) return 'delivered';
  return answer.status === GONE ? 'gone' : 'failed';
}

function afterwards(
  result: Result,
  { endpoint, number, answer }: { endpoint: ClaimedEndpoint; number: number; answer: GuardedAnswer },
): AfterAttempt {
  if (result === 'delivered') return { kind: 'delivered' };
  // Only this receipt's callback is gone: the origin may serve others.
  if (result === 'gone') return endpoint.kind === 'endpoint' ? { kind: 'kept' } : { kind: 'given_up' };
  const header = answer.kind === 'answered' ? answer.headers['retry-after'] : undefined;
  const delayMs = retryDelayMs(number, readRetryAfterMs(header, systemClock.now().getTime()), Math.random());
  return delayMs === null ? { kind: 'given_up' } : { kind: 'retry', delayMs };
}

function recordOf(answer: GuardedAnswer): Pick<AttemptRecord, 'outcome' | 'httpStatus' | 'answer'> {
  switch (answer.kind) {
    case 'answered': {
      const isSuccess = answer.status >= 200 && answer.status <= 299;
      const text = answer.body.toString('utf8').replaceAll('\0', '').slice(0, KEPT_ANSWER);
      return { outcome: isSuccess ? 'delivered' : 'refused_by_receiver', httpStatus: answer.status, answer: text };
    }
    case 'failed':
      return { outcome: answer.reason, httpStatus: answer.status ?? null, answer: null };
    case 'not_sent':
      return { outcome: 'not_sent', httpStatus: null, answer: answer.reason };
    case 'refused':
      return { outcome: 'address_not_allowed', httpStatus: null, answer: answer.reason };
  }
}
