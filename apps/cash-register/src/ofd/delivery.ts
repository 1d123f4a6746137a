import { truncateText } from '#fiscal-domain';
import type { OfdAnswer, OfdResult } from './ofd-client.js';

export type Delivery = { readonly kind: 'sent' } | { readonly kind: 'unsent'; readonly error: string };

/** What every OFD server failing reads like; the code is that of the local API. */
export const OFD_FAILED = 'all OFD servers failed (T-001)';
const MAX_REASON_LENGTH = 200;
const MAX_CODE_LENGTH = 40;

/** What an answer says of one document or report. */
export function resultOf(answer: OfdAnswer, seq: number): OfdResult | undefined {
  return answer.kind === 'answered' ? answer.results.get(seq) : undefined;
}

export function toDelivery(answer: OfdAnswer, seq: number): Delivery {
  const result = resultOf(answer, seq);
  if (result?.status === 'accepted') return { kind: 'sent' };
  return { kind: 'unsent', error: result ? `${rejectionText(result)} (T-003)` : OFD_FAILED };
}

/** With the beginning of the OFD's words: a resend answers them once per document, and no caller reads more than MAX_LOCAL_ANSWER_BYTES. */
export function rejectionText({ code, message }: OfdResult): string {
  const reason = truncateText(message ?? 'no reason given', MAX_REASON_LENGTH);
  return `the OFD rejected the document: ${reason}${code === undefined ? '' : ` [${truncateText(code, MAX_CODE_LENGTH)}]`}`;
}
