import { Inject, Injectable } from '@nestjs/common';
import { guardedRequest, OutgoingGuard, type GuardedAnswer } from '#outgoing';
import { inSpan, readTraceParent, sampledTraceParent, systemClock, type SpanOptions } from '#runtime';
import { WEBHOOK_GUARD } from '../../tokens.js';
import { afterwards, isTooMuch, recordOf, resultOf, type Result } from './delivery-outcome.js';
import { DeliveryRepository, type ClaimedEndpoint, type DueDelivery } from './delivery.repository.js';
import { pauseMs } from './delivery-schedule.js';
import { DisableEndpoint } from './disable-endpoint.js';
import type { EndpointLease } from './endpoint-lease.js';
import { RequestPlaces } from './request-places.js';
import { SendingWindow } from './sending-window.js';
import { signatureHeaders } from './sign-webhook.js';
import { batchMessage, eventMessage } from './webhook-message.js';
import { WebhookMetrics } from './webhook-metrics.js';
import { WebhookSecrets } from './webhook-secrets.js';

const TIMEOUT_MS = 10_000;
const TURN_MS = 5_000;
/** The same while other endpoints wait for a place. */
const SHORT_TURN_MS = 500;
/** So many failures one after the other end the turn; fewer where fewer may be under way. */
const FAILURES = 8;
const MAX_ANSWER_BYTES = 4_096;

export interface TurnLimits {
  /** Nothing new begins. */
  stopping: AbortSignal;
  /** Whether others wait for the place that this turn takes. */
  othersWait: () => boolean;
  lease: Pick<EndpointLease, 'isLost' | 'end'>;
}

/** What has become of a turn so far. */
interface Turn {
  endpoint: ClaimedEndpoint;
  window: SendingWindow;
  secrets: readonly string[];
  endAtMs: number;
  shortEndAtMs: number;
  /** Requests under way, with the subjects of their deliveries. */
  underWay: Map<Promise<void>, readonly string[]>;
  hasDelivered: boolean;
  failuresInARow: number;
  isGone: boolean;
}

/**
 * Sends what is due for one endpoint, for a while, and releases it. As many requests are under way as the receiver answers well
 * (sending-window.ts): one that is quick never falls behind, one that struggles is left alone.
 */
@Injectable()
export class SendDeliveries {
  constructor(
    private readonly deliveries: DeliveryRepository,
    private readonly secrets: WebhookSecrets,
    @Inject(WEBHOOK_GUARD) private readonly guard: OutgoingGuard,
    private readonly disable: DisableEndpoint,
    private readonly places: RequestPlaces,
    private readonly metrics: WebhookMetrics,
  ) {}

  async execute(endpoint: ClaimedEndpoint, limits: TurnLimits): Promise<void> {
    const now = systemClock.monotonicMs();
    const secrets = await this.secrets.signing(endpoint.kind === 'endpoint' ? endpoint.id : endpoint.merchant_id);
    const turn: Turn = {
      ...{
        endpoint,
        secrets,
        window: new SendingWindow(endpoint.concurrency),
        underWay: new Map<Promise<void>, string[]>(),
      },
      ...{ endAtMs: now + TURN_MS, shortEndAtMs: now + SHORT_TURN_MS },
      ...{ hasDelivered: false, failuresInARow: 0, isGone: false },
    };
    try {
      await this.sendDue(turn, limits);
    } finally {
      await Promise.allSettled(turn.underWay.keys());
      await limits.lease.end();
    }
    await this.end(turn);
  }

  private async end(turn: Turn): Promise<void> {
    const { endpoint } = turn;
    if (turn.isGone && endpoint.kind === 'endpoint') {
      await this.disable.execute(endpoint, 'the receiver answered 410 Gone');
      return;
    }
    const isGivenUp = await this.deliveries.release(endpoint, outcomeOf(turn), {
      pauseMs: pauseMs(endpoint.failures + 1, Math.random()),
      concurrency: turn.window.size,
    });
    if (isGivenUp && endpoint.kind === 'endpoint') {
      await this.disable.execute(endpoint, 'nothing could be delivered for five days');
    }
  }

  /** Reads what is due when half of the window is free, so that a statement serves many requests. */
  private async sendDue(turn: Turn, limits: TurnLimits): Promise<void> {
    const { underWay } = turn;
    for (let isDrained = false; ;) {
      const mayBegin = !mustEnd(turn, limits);
      const room = capacityOf(turn, this.places.free);
      if (mayBegin && !isDrained && room > 0) {
        const wanted = isProbing(turn) ? 1 : room * turn.endpoint.batch_size;
        const due = await this.deliveries.due(turn.endpoint, wanted, [...underWay.values()].flat());
        const begun = await this.begin(turn, due, room);
        isDrained = begun < wanted && begun === due.length;
      }
      if (underWay.size > 0) {
        await Promise.race(underWay.keys());
        // What stood behind a delivery of the same subject may go now.
        isDrained = false;
      } else if (!mayBegin || isDrained) return;
      else await this.places.change();
    }
  }

  /** @returns how many deliveries are on their way; what does not fit stays due */
  private async begin(turn: Turn, due: readonly DueDelivery[], room: number): Promise<number> {
    if (turn.secrets.length === 0) {
      await this.giveUpUnsigned(turn.endpoint, due);
      return due.length;
    }
    const batches = batchesOf(turn, due).slice(0, room);
    for (const deliveries of batches) {
      const sending: Promise<void> = this.places
        .use(() => this.send(turn, deliveries))
        .finally(() => turn.underWay.delete(sending));
      turn.underWay.set(
        sending,
        deliveries.map((delivery) => delivery.subject_id),
      );
    }
    return batches.flat().length;
  }

  /** Only callbacks of receipts that are older than the rule that one must have been shown the secret first. */
  private async giveUpUnsigned({ id: endpointId }: ClaimedEndpoint, due: readonly DueDelivery[]): Promise<void> {
    const answer = 'the secret that signs callbacks has never been shown';
    const attempts = due.map(({ delivery_id: deliveryId, attempt_count: tried }) => {
      const nothing = { url: null, durationMs: 0, outcome: 'not_sent', httpStatus: null };
      const attempt = { deliveryId, endpointId, number: tried + 1, ...nothing, answer };
      return this.deliveries.record(attempt, { kind: 'given_up' });
    });
    await Promise.all(attempts);
  }

  /**
   * One request. Crash windows: before it nothing has happened; between the request and the record the receiver has it
   * and gets it again, with the same id, when the lease has ended: at least once.
   */
  private send(turn: Turn, due: readonly DueDelivery[]): Promise<void> {
    return inSpan('webhook send', spanOf(due), (span) => this.sendNow(turn, due, (result) => span.set({ result })));
  }

  private async sendNow(turn: Turn, due: readonly DueDelivery[], note: (result: Result) => void): Promise<void> {
    const { endpoint, window, secrets } = turn;
    const { id, body } =
      endpoint.batch_size > 1 || due.length !== 1 ? batchMessage(due) : eventMessage(due[0] as DueDelivery);
    const timestampSeconds = Math.floor(systemClock.now().getTime() / 1_000);
    const begunMs = systemClock.monotonicMs();
    const ticket = window.begin();
    const traceParent = sampledTraceParent();
    const url = endpoint.kind === 'endpoint' ? endpoint.url : (due[0]?.url ?? endpoint.url);
    const answer = await guardedRequest(this.guard, {
      url,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'fiscal-receipt-gateway',
        ...signatureHeaders({ id, timestampSeconds, body }, secrets),
        ...(traceParent !== null && { traceparent: traceParent }),
      },
      body,
      ...{ timeoutMs: TIMEOUT_MS, maxAnswerBytes: MAX_ANSWER_BYTES },
    });
    const durationMs = Math.round(systemClock.monotonicMs() - begunMs);
    const result = resultOf(answer);
    noteInTurn(turn, result);
    note(result);
    this.metrics.sent(result, durationMs);
    if (isTooMuch(answer, durationMs)) window.wasTooMuch(ticket);
    else if (result === 'delivered') window.wentWell();
    await this.record(endpoint, due, { url, answer, result, durationMs });
  }

  private async record(
    endpoint: ClaimedEndpoint,
    due: readonly DueDelivery[],
    { url, answer, result, durationMs }: { url: string; answer: GuardedAnswer; result: Result; durationMs: number },
  ): Promise<void> {
    const records = due.map(({ delivery_id: deliveryId, attempt_count: tried }) => {
      const number = tried + 1;
      const attempt = { deliveryId, endpointId: endpoint.id, url, number, durationMs, ...recordOf(answer) };
      return this.deliveries.record(attempt, afterwards(result, { endpoint, number, answer }));
    });
    await Promise.all(records);
  }
}

/** One event is in its receipt's trace; several together are in none, and linked to each. */
function spanOf(due: readonly DueDelivery[]): SpanOptions {
  const traces = due.map(({ trace_parent: text }) => readTraceParent(text));
  const attributes = {
    'events.count': due.length,
    'event.type': due[0]?.type ?? '',
    'receipt.id': due[0]?.subject_id ?? '',
  };
  return {
    kind: 'client',
    attributes,
    ...(due.length === 1 ? { parent: traces[0] ?? null } : { parent: null, links: traces }),
  };
}

function noteInTurn(turn: Turn, result: Result): void {
  if (result === 'delivered') {
    turn.hasDelivered = true;
    turn.failuresInARow = 0;
  } else turn.failuresInARow += 1;
  turn.isGone ||= result === 'gone';
}

function hasFailed({ failuresInARow, window }: Turn): boolean {
  return failuresInARow >= Math.min(FAILURES, window.size);
}

function mustEnd(turn: Turn, { stopping, othersWait, lease }: TurnLimits): boolean {
  if (stopping.aborted || turn.isGone || lease.isLost || hasFailed(turn)) return true;
  const now = systemClock.monotonicMs();
  return now >= turn.endAtMs || (now >= turn.shortEndAtMs && othersWait());
}

/** Requests that may begin now: none while more than half of the window is under way; a single one to a receiver that fails. */
function capacityOf(turn: Turn, places: number): number {
  const { window, underWay } = turn;
  if (isProbing(turn)) return underWay.size === 0 ? Math.min(1, places) : 0;
  const room = window.size - underWay.size;
  return underWay.size > 0 && room < window.size / 2 ? 0 : Math.max(Math.min(room, places), 0);
}

/** One delivery shows whether a receiver that failed is back. */
function isProbing({ endpoint, hasDelivered }: Turn): boolean {
  return endpoint.is_failing && !hasDelivered;
}

function outcomeOf(turn: Turn): 'succeeded' | 'failed' | 'nothing' {
  if (turn.failuresInARow > 0 && (!turn.hasDelivered || hasFailed(turn))) return 'failed';
  return turn.hasDelivered ? 'succeeded' : 'nothing';
}

/** What failed once goes alone: of a batch that was refused, one event may be the reason. */
function batchesOf(turn: Turn, due: readonly DueDelivery[]): DueDelivery[][] {
  const { batch_size: size } = turn.endpoint;
  const alone = due.filter((delivery) => size === 1 || isProbing(turn) || delivery.attempt_count > 0);
  const together = due.filter((delivery) => !alone.includes(delivery));
  const batches = Array.from({ length: Math.ceil(together.length / size) }, (_, index) =>
    together.slice(index * size, (index + 1) * size),
  );
  return [...alone.map((delivery) => [delivery]), ...batches];
}
