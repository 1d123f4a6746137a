import { checkIdentity, type Baseline, type FmInfo, type LocalStatus } from '#fiscal-domain';
import { UNKNOWN_BASELINE } from './register.js';
import type { CallAnswer, Register } from './register.js';
import { readRegisterHeaders, type RegisterHeaders } from './register-headers.js';

/** What a register says of itself, whether or not it can take receipts now. */
export type RegisterPoll =
  /** Away, or it answers nonsense. */
  | { kind: 'silent'; reason: string }
  /** It answers, and refuses even to say how it is: wrong key, module not initialised. */
  | { kind: 'refused'; code: string; reason: string }
  /** Another fiscal module than the one that we know. */
  | { kind: 'replaced'; reason: string }
  | ({ kind: 'seen'; status: LocalStatus; info: FmInfo } & RegisterHeaders);

/**
 * GET /status and GET /fm/info. Unlike the lane's check it also reads registers that are not activated or expired:
 * their counters and resends still work. `known` must have been read before the call: a register only counts up.
 */
export async function pollRegister(register: Register, known: Baseline | null): Promise<RegisterPoll> {
  const status = await register.status();
  if (status.kind !== 'ok') return notSeen('GET /status', status);
  const info = await register.fmInfo();
  if (info.kind !== 'ok') return notSeen('GET /fm/info', info);
  const identity = checkIdentity(known ?? UNKNOWN_BASELINE, status.value, info.value);
  if (identity.kind === 'replaced') return identity;
  return { kind: 'seen', status: status.value, info: info.value, ...readRegisterHeaders(info.headers) };
}

function notSeen(call: string, answer: Exclude<CallAnswer<unknown>, { kind: 'ok' }>): RegisterPoll {
  return answer.kind === 'refused'
    ? { kind: 'refused', code: answer.code, reason: `${answer.code}: ${answer.message}` }
    : { kind: 'silent', reason: `${call}: ${answer.reason}` };
}
