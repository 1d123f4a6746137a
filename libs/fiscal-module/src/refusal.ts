import type { LocalError, LocalErrorCode } from '#fiscal-domain';
import type { ModuleRefusal } from './fiscal-module.js';

/** A call that was refused; nothing has changed. */
export interface Refusal {
  readonly kind: 'refused';
  readonly code: LocalErrorCode;
  readonly message: string;
  readonly rule?: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

export function refusedByModule({ code, message, reason, details }: ModuleRefusal): Refusal {
  return { kind: 'refused', code, message, details: { reason, ...details } };
}

/** HTTP status of a refusal. Clients must read `success` and `code`, not the status. */
export function httpStatusOf(code: LocalErrorCode): number {
  switch (code) {
    case 'S-001':
      return 401;
    case 'E-002':
      return 402;
    case 'S-002':
      return 404;
    case 'F-002':
    case 'F-005':
    case 'S-005':
      return 409;
    case 'E-001':
    case 'F-001':
    case 'F-003':
      return 503;
    case 'S-004':
      return 500;
    default:
      return 400;
  }
}

export function errorBody({ code, message, rule, details }: Refusal): LocalError {
  return {
    success: false,
    error: { code, message, ...(rule !== undefined && { rule }), ...(details !== undefined && { details }) },
  };
}
