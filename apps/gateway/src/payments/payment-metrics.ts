import { Injectable } from '@nestjs/common';
import { PROVIDERS, type CallOutcome, type InboundAnswer, type ProviderCall, type ProviderCode } from '#payments';
import { loggedReading, Metrics, type Logger } from '#runtime';

/**
 * How a provider's call to us ended. `unknown_source`: its address is none of the account's. `held_back`: too many wrong passwords came
 * from there before. `late`: it has to ask again.
 */
export type InboundOutcome = 'answered' | 'wrong_key' | 'held_back' | 'unknown_source' | 'late' | 'failed';

/** What the alert ProviderKeysRefused adds up. */
const PROVES_NOTHING = ['wrong_key', 'held_back', 'unknown_source'] as const satisfies readonly InboundOutcome[];

/** Calls to payment providers and theirs to us, by provider and kind. */
@Injectable()
export class PaymentMetrics {
  private readonly outbound;
  private readonly inbound;
  private readonly routes;

  constructor(metrics: Metrics) {
    this.outbound = metrics.durations({
      name: 'provider_call_duration_seconds',
      help: 'Calls to payment providers; outcome is what their answer came to',
      labels: ['provider', 'call', 'outcome'],
    });
    this.inbound = metrics.counter({
      name: 'provider_inbound_calls_total',
      help: 'Calls of payment providers; wrong_key, held_back and unknown_source prove nothing of their callers',
      labels: ['provider', 'outcome'],
    });
    // From 0 on: a series that begins with a hundred of them has not increased, as Prometheus sees it.
    for (const provider of PROVIDERS) for (const outcome of PROVES_NOTHING) this.inbound.inc({ provider, outcome }, 0);
    this.routes = metrics.counter({
      name: 'provider_routes_total',
      help: 'Payments that named no provider, by the one that they went to',
      labels: ['provider', 'why'],
    });
  }

  /** `failover`: it was tried at another one before. */
  routed(provider: ProviderCode, why: 'rules' | 'failover'): void {
    this.routes.inc({ provider, why });
  }

  called(what: { provider: ProviderCode; call: ProviderCall; outcome: CallOutcome }, seconds: number): void {
    const { provider, call, outcome } = what;
    this.outbound.observe({ provider, call, outcome: outcome.kind }, seconds);
  }

  wasCalled(provider: ProviderCode, outcome: InboundOutcome): void {
    this.inbound.inc({ provider, outcome });
  }
}

/** Shown by every gateway: take the maximum. NaN while the database does not answer, as a scrape must not fail with it. */
export function observeForPerson(metrics: Metrics, count: () => Promise<number>, logger: Logger): void {
  const reading = loggedReading(count, { logger, what: 'payments not counted for metrics' });
  metrics.gauge(
    {
      name: 'payments_for_person',
      help: 'Payments that a person has to decide on, but for those of sandboxes, counted up to 1 000',
      together: 'max',
    },
    async (gauge) => gauge.set((await reading.get()) ?? Number.NaN),
  );
}

/** Each protocol has its own words for a key that is wrong. */
export function inboundOutcomeOf(
  provider: ProviderCode,
  isKnownSource: boolean,
  answer: InboundAnswer,
): InboundOutcome {
  if (!isKnownSource) return 'unknown_source';
  return isRefusedKey(provider, answer) ? 'wrong_key' : 'answered';
}

const PAYME_PRIVILEGE = -32504;
const CLICK_SIGN_CHECK_FAILED = -1;
const UZUM_ACCESS = '10001';

function isRefusedKey(provider: ProviderCode, { status, body }: InboundAnswer): boolean {
  if (status === 401 || status === 403) return true;
  if (typeof body !== 'object' || body === null) return false;
  const { error, errorCode } = body as { error?: unknown; errorCode?: unknown };
  if (provider === 'payme') return (error as { code?: unknown } | undefined)?.code === PAYME_PRIVILEGE;
  if (provider === 'click') return error === CLICK_SIGN_CHECK_FAILED;
  return provider === 'uzum' && errorCode === UZUM_ACCESS;
}
