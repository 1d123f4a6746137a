import type { DeviceTaskResult } from '#database';
import { Problem, type ProblemCode } from '#problems';

/** Codes of the register, and of the relay that asked it, as problems of this API. */
const PROBLEMS: Readonly<Record<string, ProblemCode>> = {
  'S-001': 'device_key_refused',
  'E-001': 'device_not_activated',
  'E-002': 'device_subscription_expired',
  'F-001': 'device_module_not_ready',
  unreachable: 'device_unreachable',
  not_a_register: 'device_not_a_register',
  tin_mismatch: 'device_tin_mismatch',
  terminal_taken: 'device_terminal_taken',
  other_terminal: 'device_other_terminal',
  expired: 'device_call_pending',
  internal: 'service_unavailable',
};

const POINTERS: Partial<Record<ProblemCode, string>> = {
  device_key_refused: '/api_key',
  device_unreachable: '/base_url',
  device_not_a_register: '/base_url',
};

type Failure = Extract<DeviceTaskResult, { kind: 'failed' }>;

/** What the register, or the way to it, said no with. @param inBody whether the caller's body named address and key */
export function taskProblem({ code, detail }: Failure, inBody: boolean): Problem {
  const problem = PROBLEMS[code] ?? 'device_refused';
  const pointer = (inBody ? POINTERS[problem] : undefined) ?? '';
  // The register's own code beside ours: E-002, F-003 …
  const own = problem === 'device_refused' ? code : problem;
  return new Problem(problem, detail, { errors: [{ pointer, code: own, detail }] });
}

/** No relay could ask the register in the time for which the caller waits. */
export function pendingProblem(): Problem {
  return new Problem('device_call_pending', 'No relay has answered in time; nothing was changed.');
}
