import { Problem, type ProblemError } from '#problems';
import type { ResolveBody } from './operator-bodies.js';
import { isGiven } from '../http/given.js';

/** What a person says about a registration, as read from the register's screen, its journal or the OFD. */
export interface RegistrationClaim {
  receiptSeq: number;
  /** Both null for an advance or credit: they have neither. */
  fiscalSign: string | null;
  verificationUrl: string | null;
  /** Null: the link says which, or where there is none, it is the register's own. */
  terminalId: string | null;
  /** Null: the link says when. */
  registeredAt: Date | null;
}

/** `confirmTerminal`: the operator confirms that a terminal of which nothing is known stood there after the copy that was put back. */
interface Registered {
  reason: string;
  claim: RegistrationClaim;
  confirmTerminal: boolean;
}

export type Decision =
  | (Registered & { kind: 'registered' })
  /** `confirmUnsettled`: the operator confirms that the lost request will not reach the register any more. */
  | {
      kind: 'not_registered';
      reason: string;
      confirmUnsettled: boolean;
      sendsAgain: boolean;
      /** Of a receipt that was ended: which document its register has no more. */
      document: Pick<RegistrationClaim, 'receiptSeq' | 'terminalId'> | null;
    }
  /** Registered, and once too often. `surplus` null: this very registration is the one to be refunded. */
  | (Registered & { kind: 'duplicate'; surplus: RegistrationClaim | null });

/** @throws Problem 422 naming every field that the decision lacks or does not take */
export function readDecision(body: ResolveBody): Decision {
  const namesDocument = body.send_again === false && isGiven(body.receipt_seq);
  const strange = namesDocument ? CLAIM_FIELDS.filter((name) => !NAMES_DOCUMENT.includes(name)) : CLAIM_FIELDS;
  const faults =
    body.decision === 'not_registered' ? unwanted(body, [...strange, 'confirm_terminal']) : claimFaults(body);
  if (body.decision !== 'not_registered') faults.push(...unwanted(body, ['confirm_unsettled', 'send_again']));
  if (body.decision !== 'duplicate') faults.push(...unwanted(body, ['surplus']));
  if (faults.length > 0) throw Problem.fromErrors(faults);
  const reason = body.reason.trim();
  if (body.decision === 'not_registered')
    return {
      ...{ kind: 'not_registered', reason },
      ...{ confirmUnsettled: body.confirm_unsettled === true, sendsAgain: body.send_again !== false },
      document: namesDocument ? { receiptSeq: body.receipt_seq ?? 0, terminalId: body.terminal_id ?? null } : null,
    };
  const claim: RegistrationClaim = {
    receiptSeq: body.receipt_seq ?? 0,
    fiscalSign: body.fiscal_sign ?? null,
    verificationUrl: body.verification_url ?? null,
    terminalId: body.terminal_id ?? null,
    registeredAt: body.registered_at ? new Date(body.registered_at) : null,
  };
  const registered = { reason, claim, confirmTerminal: body.confirm_terminal === true };
  return body.decision === 'registered'
    ? { kind: 'registered', ...registered }
    : { kind: 'duplicate', ...registered, surplus: surplusOf(body) };
}

const CLAIM_FIELDS = ['receipt_seq', 'fiscal_sign', 'verification_url', 'terminal_id', 'registered_at'] as const;
const NAMES_DOCUMENT: readonly string[] = ['receipt_seq', 'terminal_id'];

/** Sign and link are asked for by the receipt's type, which only the database knows. */
function claimFaults(body: ResolveBody): ProblemError[] {
  if (isGiven(body.receipt_seq)) return [];
  return [{ pointer: '/receipt_seq', code: 'required', detail: `receipt_seq is required to decide ${body.decision}` }];
}

/** A field beside the decision that it does not belong to: the caller meant something else than it sent. */
function unwanted(body: ResolveBody, fields: readonly (keyof ResolveBody)[]): ProblemError[] {
  return fields
    .filter((field) => isGiven(body[field]))
    .map((field) => ({
      pointer: `/${field}`,
      code: 'unknown_field',
      detail: `${field} does not belong to the decision ${body.decision}`,
    }));
}

function surplusOf({ surplus }: ResolveBody): RegistrationClaim | null {
  if (!surplus) return null;
  const { receipt_seq: receiptSeq, fiscal_sign: fiscalSign, verification_url: verificationUrl } = surplus;
  return { receiptSeq, fiscalSign, verificationUrl, terminalId: null, registeredAt: null };
}
