import { Problem } from '#problems';
import { secondsToWait } from '../../limits/limit-headers.js';
import type { TokenLimit } from '../../limits/token-limit.js';

/**
 * Each session and each second factor stands on the platform's trail for ever, and right ones are no failures that a limit would count: how
 * often a person may have one is bounded as the tokens of a client are.
 * @throws Problem 429
 */
export async function refuseTooMany(limit: TokenLimit, userId: string): Promise<void> {
  const verdict = await limit.take(userId);
  if (verdict.kind === 'open') return;
  throw new Problem(
    'too_many_requests',
    'Too many logins and second factors of this person: use a session until it ends.',
    {
      retryAfterSeconds: secondsToWait(verdict.retryInMs),
    },
  );
}
