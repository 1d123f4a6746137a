import { Problem } from '#problems';
import { parseVerificationLink } from '#fiscal-domain';
import { placesOf, type FoundLate } from './attempt-outcome.js';
import { checkRegistration, type CheckedRegistration } from './check-registration.js';
import type { Decision } from './decision.js';
import type { LockedAttempt } from './operator.repository.js';

const DETAIL =
  'The receipt was ended and stays so. Decide what becomes of the document that its register has: duplicate without surplus takes it back, ' +
  'not_registered with send_again false and the receipt_seq of the document says that there is none any more.';

export interface DocumentDecided {
  document: FoundLate;
  /** As it is to be taken back; null: there is none any more. */
  surplus: CheckedRegistration | null;
}

/**
 * Which of the documents that were found late a decision is about. It must name one: the words that had ended the receipt, sent twice or by two at once, would
 * else say of a document that no person has seen that it is gone.
 *
 * What its register has answered is all that the document is held against: it may be later than a reading of the counters,
 * and in a module that came later.
 *
 * @throws Problem 409 already_resolved; 422 for another document, or one that is named wrongly
 */
export function documentDecided(
  { receiptType, createdAt }: Pick<LockedAttempt, 'receiptType' | 'createdAt'>,
  found: readonly FoundLate[],
  decision: Decision,
): DocumentDecided {
  const isDuplicate = decision.kind === 'duplicate' && decision.surplus === null;
  const claim = isDuplicate ? decision.claim : decision.kind === 'not_registered' ? decision.document : null;
  if (claim === null) throw new Problem('already_resolved', DETAIL);
  const link = isDuplicate ? linkOf(decision.claim.verificationUrl) : null;
  const terminalId = link ?? claim.terminalId;
  const named = found.filter(
    (one) => one.receiptSeq === claim.receiptSeq && (terminalId === null || one.terminalId === terminalId),
  );
  const [document] = named;
  if (document === undefined)
    throw Problem.at('/receipt_seq', 'contradicts_reading', `its register has it ${placesOf(found)}`);
  if (named.length > 1)
    throw Problem.at('/terminal_id', 'required', `its register has it ${placesOf(named)}: terminal_id says which`);
  if (!isDuplicate) return { document, surplus: null };
  const baseline = { terminalId: document.terminalId, journalId: null, sequence: null, reading: null };
  const evidence = { receiptType, baseline, reading: null, calibration: null, deviceTerminalId: null };
  const check = checkRegistration(decision.claim, { ...evidence, startedAt: createdAt }, { nowMs: Date.now() });
  if (check.kind === 'refused') throw Problem.fromErrors(check.faults);
  if (document.fiscalSign !== null && check.registration.fiscalSign !== document.fiscalSign)
    throw Problem.at('/fiscal_sign', 'contradicts_reading', 'its register has answered with another fiscal sign');
  return { document, surplus: check.registration };
}

function linkOf(verificationUrl: string | null): string | null {
  return verificationUrl === null ? null : (parseVerificationLink(verificationUrl)?.terminalId ?? null);
}
