import { Injectable } from '@nestjs/common';
import { isTestId } from '#fiscal-domain';
import { DEFINITIONS, objectBody, type CallOutcome, type PaymentRef } from '#payments';
import { Problem } from '#problems';
import { growingCache, newIdOf, redact, scrubText } from '#runtime';
import { notFound } from '../../http/own-id.js';
import { ProviderClients, type SeenAnswer } from '../provider-clients.js';
import { reader, type OpenAccount } from './account-settings.js';
import { ProviderAccounts } from './provider-accounts.js';

/** What became of a test of the connection. */
export interface AccountTestView {
  /**
   * `answered`: the provider read the request and answered it. `refused`: it takes neither the key nor the address of this gateway.
   * `provider_error`: it answered that it cannot, that it was asked too often, or in words that are none of its own. `unreachable`: no
   * answer came. `not_possible`: it only calls, or is simulated.
   */
  result: 'answered' | 'refused' | 'provider_error' | 'unreachable' | 'not_possible';
  /** Of the last answer. */
  http_status: number | null;
  /** Of all requests together. */
  duration_ms: number;
  /** What was understood of it. */
  detail: string;
  /** Beginning of the last answer, without secrets: a provider names its reasons there. */
  answer: string | null;
}

/** A merchant asks its providers no more often than this in one gateway: each test may hold a connection for as long as a call may take. */
const PAUSE_MS = 2_000;
const PAUSES_KEPT = 10_000;
const ANSWER_LENGTH = 500;
const DETAIL_LENGTH = 200;

/** Asks the provider for a payment that it does not have: no money can move, and the answer shows whether the account works. */
@Injectable()
export class TestConnection {
  private readonly begun = growingCache<string, true>(PAUSES_KEPT, { ttl: PAUSE_MS });

  constructor(
    private readonly accounts: ProviderAccounts,
    private readonly clients: ProviderClients,
  ) {}

  /** @throws Problem 404, 429 too_many_requests */
  async execute(merchantId: string, id: string): Promise<AccountTestView> {
    await this.accounts.find(merchantId, id);
    if (isTestId(merchantId)) return notPossible('The provider of a sandbox is simulated.');
    this.pace(merchantId);
    const account = await this.accounts.reopen(id);
    if (account?.merchantId !== merchantId) throw notFound('provider account');
    const absent = DEFINITIONS[account.provider].absent?.(reader(account)) ?? null;
    if (absent === null) return notPossible('With these settings the provider calls the gateway, and is not called.');
    return this.ask(account, absent);
  }

  private pace(merchantId: string): void {
    if (this.begun.has(merchantId)) {
      const retryAfterSeconds = Math.max(1, Math.ceil(this.begun.getRemainingTTL(merchantId) / 1_000));
      throw new Problem('too_many_requests', 'An account was tested a moment ago.', { retryAfterSeconds });
    }
    this.begun.set(merchantId, true);
  }

  private async ask(account: OpenAccount, absent: Pick<PaymentRef, 'flow' | 'providerRef'>): Promise<AccountTestView> {
    const seen: { last: SeenAnswer | null } = { last: null };
    const client = this.clients.observed(account, (answer) => (seen.last = answer));
    const startedAt = performance.now();
    const ref = { ...absent, ourRef: newIdOf('pay', account.merchantId), amountTiyin: 100, createdAtMs: Date.now() };
    const outcome = (await client.fetchStatus?.(ref)) ?? { kind: 'unsent', detail: 'the provider cannot be asked' };
    const detail = outcome.kind === 'status' ? outcome.status : outcome.detail;
    return {
      result: resultOf(outcome, seen.last),
      http_status: seen.last?.status ?? null,
      duration_ms: Math.round(performance.now() - startedAt),
      detail: withoutSecrets(detail, account).slice(0, DETAIL_LENGTH),
      answer: seen.last && answerText(seen.last, account),
    };
  }
}

function notPossible(detail: string): AccountTestView {
  return { result: 'not_possible', http_status: null, duration_ms: 0, detail, answer: null };
}

function resultOf(outcome: CallOutcome, last: SeenAnswer | null): AccountTestView['result'] {
  if (last === null) return 'unreachable';
  const isTooOften = last.status === 429 || (outcome.kind === 'unsent' && outcome.isTooOften === true);
  if (last.status >= 500 || isTooOften) return 'provider_error';
  // Answered, and yet not examined: the provider refused who asks.
  if (last.status === 401 || last.status === 403 || outcome.kind === 'unsent') return 'refused';
  // What some say of a payment that they do not have reads like a failure; what is no JSON are the words of another kind of server.
  return outcome.kind === 'unknown' && objectBody(last.text) === null ? 'provider_error' : 'answered';
}

function answerText({ text }: SeenAnswer, account: OpenAccount): string {
  return withoutSecrets(redactedText(text), account).slice(0, ANSWER_LENGTH);
}

function redactedText(text: string): string {
  try {
    return JSON.stringify(redact(JSON.parse(text)));
  } catch {
    // No JSON: shown as the text that it is.
    return scrubText(text);
  }
}

/** A provider may repeat what it was sent, as it is or as JSON writes it. */
function withoutSecrets(text: string, { provider, values }: OpenAccount): string {
  const { fields } = DEFINITIONS[provider];
  const secrets = Object.entries(values)
    .filter(([name, value]) => fields[name]?.secret === true && value !== '')
    .flatMap(([, value]) => [value, JSON.stringify(value).slice(1, -1)]);
  return secrets.reduce((left, secret) => left.replaceAll(secret, '…'), text);
}
