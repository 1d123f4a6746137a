import {
  checkIdentity,
  checkOwn,
  hasExtensions,
  readingOf,
  type Baseline,
  type FmInfo,
  type LocalStatus,
  type OwnDocument,
} from '#fiscal-domain';
import { UNKNOWN_BASELINE } from './register.js';
import type { Register } from './register.js';

export type RegisterCheck =
  | { kind: 'same'; baseline: Baseline; capabilities: readonly string[] }
  | { kind: 'replaced'; reason: string }
  /** Away, or it answers nonsense: says nothing about who it is. */
  | { kind: 'silent'; reason: string }
  /** It answers, and refuses us: wrong key, not activated, expired, module not initialised. */
  | { kind: 'refusing'; state: 'blocked' | 'expired'; reason: string };

/** The journal has no document with this number. */
const NOT_THERE = 'S-002';

/**
 * Asks who is there and compares with whom we knew (docs/architecture.md), by GET /status and GET /fm/info, and of a register with a journal by
 * our last document in it.
 */
export async function checkRegister(register: Register, known: Baseline | null): Promise<RegisterCheck> {
  const status = await register.status();
  if (status.kind === 'refused') return refusing(status);
  if (status.kind !== 'ok') return { kind: 'silent', reason: `GET /status: ${status.reason}` };
  const info = await register.fmInfo();
  if (info.kind === 'refused') return refusing(info);
  if (info.kind !== 'ok') return { kind: 'silent', reason: `GET /fm/info: ${info.reason}` };
  const identity = checkIdentity(known ?? UNKNOWN_BASELINE, status.value, info.value);
  if (identity.kind === 'replaced') return identity;
  const reason = unfitReason(status.value);
  if (reason) return { kind: 'refusing', ...reason };
  const lost = await missingOwn(register, known, status.value);
  if (lost) return lost;
  return {
    kind: 'same',
    baseline: baselineOf(status.value, info.value, known),
    capabilities: status.value.capabilities ?? [],
  };
}

/**
 * Asks a register with a journal for our last document in it. In a copy that was put back others may have sold since, up to the number
 * that we know: only the document says it.
 *
 * @returns null: it is there, or none of ours is known
 */
export async function missingOwn(
  register: Register,
  known: Baseline | null,
  status: LocalStatus,
): Promise<Exclude<RegisterCheck, { kind: 'same' }> | null> {
  const own: OwnDocument | undefined = known?.own;
  if (own === undefined || !hasExtensions(status)) return null;
  const there = await register.findBySeq(own.receiptSeq);
  if (there.kind === 'refused' && there.code !== NOT_THERE) return refusing(there);
  if (there.kind === 'unreachable' || there.kind === 'unclear')
    return { kind: 'silent', reason: `GET /receipts/${own.receiptSeq}: ${there.reason}` };
  const identity = checkOwn(own, there.kind === 'ok' ? there.value : null);
  return identity.kind === 'replaced' ? identity : null;
}

function refusing({ code, message }: { code: string; message: string }): Extract<RegisterCheck, { kind: 'refusing' }> {
  return { kind: 'refusing', state: code === 'E-002' ? 'expired' : 'blocked', reason: `${code}: ${message}` };
}

function unfitReason(status: LocalStatus): { state: 'blocked' | 'expired'; reason: string } | null {
  if (!status.activated) return { state: 'blocked', reason: 'E-001: the register is not activated' };
  if (!status.fmInitialized) return { state: 'blocked', reason: 'F-001: the fiscal module is not initialised' };
  if (status.subscriptionState === 'expired')
    return { state: 'expired', reason: 'E-002: the subscription has expired' };
  return null;
}

function baselineOf(status: LocalStatus, info: FmInfo, known: Baseline | null): Baseline {
  const { terminalId } = info;
  return hasExtensions(status)
    ? {
        ...{ terminalId, journalId: status.journalId ?? null, sequence: info.currentReceiptSeq, reading: null },
        ...(known?.own && { own: known.own }),
      }
    : { terminalId, journalId: null, sequence: known?.sequence ?? null, reading: readingOf(info) };
}
