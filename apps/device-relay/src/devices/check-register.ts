import { checkIdentity, hasExtensions, readingOf, type Baseline, type FmInfo, type LocalStatus } from '#fiscal-domain';
import { UNKNOWN_BASELINE } from './register.js';
import type { Register } from './register.js';

export type RegisterCheck =
  | { kind: 'same'; baseline: Baseline; capabilities: readonly string[] }
  | { kind: 'replaced'; reason: string }
  /** Away, or it answers nonsense: says nothing about who it is. */
  | { kind: 'silent'; reason: string }
  /** It answers, and refuses us: wrong key, not activated, expired, module not initialised. */
  | { kind: 'refusing'; state: 'blocked' | 'expired'; reason: string };

/** Asks who is there and compares with whom we knew (docs/architecture.md), by GET /status and GET /fm/info. */
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
  return {
    kind: 'same',
    baseline: baselineOf(status.value, info.value, known),
    capabilities: status.value.capabilities ?? [],
  };
}

function refusing({ code, message }: { code: string; message: string }): RegisterCheck {
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
    ? { terminalId, journalId: status.journalId ?? null, sequence: info.currentReceiptSeq, reading: null }
    : { terminalId, journalId: null, sequence: known?.sequence ?? null, reading: readingOf(info) };
}
