import { OFD_BATCH } from '#fiscal-module';
import { rejectionText, resultOf } from './delivery.js';
import type { OfdAnswer, OfdResult } from './ofd-client.js';

export interface ResendOutcome {
  readonly total: number;
  readonly sent: number;
  readonly errors: readonly { readonly seq: number; readonly code: 'T-001' | 'T-003'; readonly message: string }[];
}

/** A resend has no customer waiting at the till: each call may take longer than a sale's budget. */
const CALL_MS = 5_000;
/** Of one alone, where more of them had no answer: with the call before and the next one, less than a gateway waits for a resend. */
const ALONE_CALL_MS = 2_000;
/** In a row that have no answer even alone: then it is the line or the OFD. */
const MOST_UNANSWERED = 2;
/** In a row that the OFD takes not even alone: then it is the OFD that is at fault, and the others are not tried. */
const MOST_FAILURES = 3;

/** One call with the first of these, `tried` of them: fewer where no more go into a call. What is acknowledged has left the module then. */
type Call = (seqs: readonly number[], budgetMs: number) => Promise<{ tried: number; answer: OfdAnswer }>;

/**
 * Sends what is unsent, oldest first. An OFD that answers, but not what it should, may do so because of one document, or of their number: then fewer
 * go at a time. So may one that does not answer at all, or a line that is too slow for so many: then one goes alone, and more with each that arrives.
 * Otherwise the same first documents would hold up all others, until the fuse stops the register.
 */
export class Resend {
  /** The last resend had no answer at all: the next one asks with one document, so that an outage costs each of them little. */
  private isSilent = false;

  constructor(private readonly call: Call) {}

  async all(seqs: readonly number[]): Promise<ResendOutcome> {
    const errors: ResendOutcome['errors'][number][] = [];
    let [start, failures, unanswered, largest] = [0, 0, 0, OFD_BATCH];
    let [most, callMs] = this.isSilent ? [1, ALONE_CALL_MS] : [OFD_BATCH, CALL_MS];
    while (start < seqs.length && failures < MOST_FAILURES && unanswered < MOST_UNANSWERED) {
      const { tried, answer } = await this.call(seqs.slice(start, start + most), callMs);
      if (answer.kind === 'failed' && tried > 1) {
        const half = Math.ceil(tried / 2);
        // So many are not tried again: each such try costs the whole time of a call.
        if (!answer.isThere) largest = half;
        [most, callMs] = answer.isThere ? [half, CALL_MS] : [1, ALONE_CALL_MS];
        continue;
      }
      errors.push(...seqs.slice(start, start + tried).flatMap((seq) => failureOf(seq, resultOf(answer, seq))));
      start += tried;
      if (answer.kind === 'answered') {
        [failures, unanswered, most, callMs] = [0, 0, Math.min(2 * most, largest), CALL_MS];
      } else if (answer.isThere) failures += 1;
      else [unanswered, callMs] = [unanswered + 1, ALONE_CALL_MS];
    }
    this.isSilent = unanswered === MOST_UNANSWERED;
    errors.push(...seqs.slice(start).flatMap((seq) => failureOf(seq, undefined)));
    return { total: seqs.length, sent: seqs.length - errors.length, errors };
  }
}

function failureOf(seq: number, result: OfdResult | undefined): ResendOutcome['errors'] {
  if (result?.status === 'accepted') return [];
  return result
    ? [{ seq, code: 'T-003', message: rejectionText(result) }]
    : [{ seq, code: 'T-001', message: 'all OFD servers failed' }];
}
