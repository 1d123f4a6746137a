import type { ProviderCode } from '#payments';
import type { MerchantAccounts } from './accounts.js';
import type { Observe } from './observe.js';

/** A provider's call to a merchant. Null without an answer, or not with JSON. */
export interface MerchantAnswer {
  status: number;
  body: Record<string, unknown>;
}

const TIMEOUT_MS = 10_000;
/**
 * How long a provider repeats a call that is not answered: no provider publishes it. Longer than any merchant takes to start again,
 * on however slow a machine: one that gives up leaves money that no call can move.
 */
const PATIENCE_MS = 15 * 60_000;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 2_000;

/** The merchant as the providers know it: its accounts, and the calls to it. */
export class Merchant {
  /** Calls that are not answered yet. */
  open = 0;

  /**
   * @param accounts may change while it runs
   * @param observe is shown each call that was answered with HTTP 200
   */
  constructor(
    readonly accounts: () => MerchantAccounts,
    private readonly observe: Observe,
  ) {}

  /** @throws Error where none is set up */
  account<Provider extends ProviderCode>(provider: Provider): NonNullable<MerchantAccounts[Provider]> {
    const account = this.accounts()[provider];
    if (!account) throw new Error(`No account at ${provider} is set up.`);
    return account;
  }

  async call(
    provider: ProviderCode,
    to: string | { base: string; path: string },
    body: string,
    headers: Record<string, string> = { 'content-type': 'application/json' },
  ): Promise<MerchantAnswer | null> {
    const { base, path } = typeof to === 'string' ? { base: to, path: '' } : to;
    this.open += 1;
    try {
      const init = { method: 'POST', body, headers, signal: AbortSignal.timeout(TIMEOUT_MS) };
      const response = await fetch(`${base}${path}`, init);
      const text = await response.text();
      const answer = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
      const { status } = response;
      // Some have an answer of their own for what is refused.
      const isOfProtocol = status === 200 || (status === 400 && provider === 'uzum');
      if (isOfProtocol)
        this.observe({ provider, by: 'provider', method: 'POST', path, request: fieldsOf(body), status, answer });
      return { status, body: answer };
    } catch {
      // The merchant is away or answers nonsense: what a provider then does is the caller's business.
      return null;
    } finally {
      this.open -= 1;
    }
  }
}

/** A body of JSON, or of a form. */
function fieldsOf(body: string): unknown {
  return body.startsWith('{') ? (JSON.parse(body) as unknown) : Object.fromEntries(new URLSearchParams(body));
}

/** Calls until the answer is final, as a provider repeats what was not answered. @returns the last answer */
export async function callUntil(
  isFinal: (answer: MerchantAnswer | null) => boolean,
  call: () => Promise<MerchantAnswer | null>,
): Promise<MerchantAnswer | null> {
  const deadline = Date.now() + PATIENCE_MS;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS)) {
    const answer = await call();
    if (isFinal(answer) || Date.now() > deadline) return answer;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
