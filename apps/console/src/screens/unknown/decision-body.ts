import type { Schema, UnknownCase } from '../../api/api.js';
import { inputToInstant } from '../../format/time.js';

export type Decision = Schema<'ResolveBody2'>['decision'];

/** What a person has typed about one receipt. */
export interface DecisionDraft {
  decision: Decision;
  reason: string;
  seq: string;
  sign: string;
  link: string;
  terminal: string;
  at: string;
  surplusSeq: string;
  surplusSign: string;
  surplusLink: string;
  /** Its register is gone for good: it is not sent again. */
  isEnded: boolean;
  confirmUnsettled: boolean;
  confirmTerminal: boolean;
  /** The document that there is none of any more, where there was one. */
  goneSeq?: string;
  goneTerminal?: string;
}

export const EMPTY_DECISION: DecisionDraft = {
  decision: 'registered',
  reason: '',
  seq: '',
  sign: '',
  link: '',
  terminal: '',
  at: '',
  surplusSeq: '',
  surplusSign: '',
  surplusLink: '',
  isEnded: false,
  confirmUnsettled: false,
  confirmTerminal: false,
};

/** What can be decided of a receipt that was ended as rejected and is at its register all the same: what becomes of that document. */
export const ENDED_DECISIONS = ['duplicate', 'not_registered'] as const;

/** The draft as it counts for such a receipt: it is neither sold by that document nor sent again. What is said to be gone is the document that is shown. */
export function endedDraft(
  draft: DecisionDraft,
  evidence: UnknownCase['evidence'],
): DecisionDraft & { decision: (typeof ENDED_DECISIONS)[number] } {
  const ended = { ...draft, isEnded: true, surplusSeq: '', surplusSign: '', surplusLink: '' };
  if (draft.decision !== 'not_registered') return { ...ended, decision: 'duplicate' };
  const found: unknown = evidence?.['found_late'];
  const [first] = (Array.isArray(found) ? found : []) as ({ receipt_seq?: number; terminal_id?: string } | undefined)[];
  const [seq, terminal] = [String(first?.receipt_seq ?? ''), first?.terminal_id ?? ''];
  return { ...ended, decision: 'not_registered', goneSeq: seq, goneTerminal: terminal };
}

/** Only the fields of this decision are sent; each is judged by the gateway, with its pointer. */
export function decisionBody(draft: DecisionDraft): Schema<'ResolveBody2'> {
  const { decision, reason } = draft;
  if (decision === 'not_registered') {
    return {
      ...{ decision, reason },
      ...(draft.isEnded && { send_again: false }),
      ...(draft.goneSeq && { receipt_seq: wholeOf(draft.goneSeq) }),
      ...(draft.goneTerminal && { terminal_id: draft.goneTerminal }),
      ...(draft.confirmUnsettled && { confirm_unsettled: true }),
    };
  }
  const at = inputToInstant(draft.at);
  return {
    decision,
    reason,
    ...(draft.seq !== '' && { receipt_seq: wholeOf(draft.seq) }),
    ...(draft.sign !== '' && { fiscal_sign: draft.sign }),
    ...(draft.link !== '' && { verification_url: draft.link }),
    ...(draft.terminal !== '' && { terminal_id: draft.terminal }),
    ...(at !== undefined && { registered_at: at }),
    ...(draft.confirmTerminal && { confirm_terminal: true }),
    ...(decision === 'duplicate' &&
      `${draft.surplusSeq}${draft.surplusSign}${draft.surplusLink}` !== '' && {
        surplus: {
          receipt_seq: wholeOf(draft.surplusSeq),
          fiscal_sign: draft.surplusSign,
          verification_url: draft.surplusLink,
        },
      }),
  };
}

/** What is no number is sent as 0, which the gateway refuses at its field. */
function wholeOf(text: string): number {
  return /^\d{1,15}$/.test(text) ? Number(text) : 0;
}
