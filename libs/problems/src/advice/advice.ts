/**
 * What a caller does about a problem:
 * - `repeat`: the same request, under the same Idempotency-Key, after `Retry-After`; exactly the codes that are `retryable`;
 * - `renew`: token, signature or login anew, then the same request under the same key;
 * - `change`: the request itself has to be another one;
 * - `read`: the state is another than the caller takes it for; read it before anything else;
 * - `ask`: a person has to act first; the sentence says who.
 */
export type AdviceAction = 'repeat' | 'renew' | 'change' | 'read' | 'ask';

/** For the developer of the caller; docs/errors.md and /docs/problems show it. */
export interface Advice {
  action: AdviceAction;
  means: string;
  then: string;
}

type Sentences = (means: string, then: string) => Advice;

const by =
  (action: AdviceAction): Sentences =>
  (means, then) => ({ action, means, then });

export const repeat = by('repeat');
export const renew = by('renew');
export const change = by('change');
export const read = by('read');
export const ask = by('ask');
