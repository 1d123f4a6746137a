import type { Schema } from './api-types.js';

export type Problem = Schema<'Problem'>;
/** One fault of a request, with an RFC 6901 pointer into the body that was sent. */
export type ProblemFault = Schema<'ProblemError'>;
/** Codes of docs/errors.md; a newer gateway may have more. */
export type ProblemCode = Problem['code'] | (string & {});

/** Everything that the SDK throws by itself. An aborted call rejects with the reason of its signal instead. */
export class FiscalGatewayError extends Error {
  // Written out in each class: a minifier changes the names of classes.
  override name = 'FiscalGatewayError';
}

/** The call cannot be made: an option is missing or wrong. */
export class UsageError extends FiscalGatewayError {
  override name = 'UsageError';
}

export interface Refusal {
  status: number;
  /** Null when the answer is no problem document, as that of a proxy in between. */
  problem: Problem | null;
  requestId: string | null;
  retryAfterMs: number | null;
  /** The path of a receipt that was stored and then refused by its register. */
  location: string | null;
  /** Of the call that was refused. */
  idempotencyKey: string | null;
  what: string;
}

/** The gateway refused: `code` is for programs, `faults` names every fault with its place in the body. */
export class ProblemError extends FiscalGatewayError {
  override name = 'ProblemError';
  declare readonly status: number;
  declare readonly code: ProblemCode;
  declare readonly problem: Problem | null;
  declare readonly faults: readonly ProblemFault[];
  declare readonly requestId: string | null;
  declare readonly isRetryable: boolean;
  declare readonly retryAfterMs: number | null;
  /** Of a receipt that is stored as `rejected`: it can be read, and its key is used. */
  declare readonly receiptId: string | null;
  declare readonly idempotencyKey: string | null;

  constructor({ status, problem, requestId, retryAfterMs, location, idempotencyKey, what }: Refusal) {
    super(`${what} was answered with ${status}${problem === null ? '' : ` ${problem.code}: ${problem.detail}`}`);
    Object.assign(this, {
      status,
      problem,
      code: problem?.code ?? `http_${status}`,
      faults: problem?.errors ?? [],
      requestId: problem?.request_id ?? requestId,
      isRetryable: problem?.retryable ?? false,
      retryAfterMs,
      receiptId: /\/v1\/receipts\/([^/]+)$/.exec(location ?? '')?.[1] ?? null,
      idempotencyKey,
    } satisfies Partial<ProblemError>);
  }

  /** The faults at a place of the body or below it: `faultsAt('/items/0')`. */
  faultsAt(pointer: string): readonly ProblemFault[] {
    return this.faults.filter((fault) => fault.pointer === pointer || fault.pointer.startsWith(`${pointer}/`));
  }
}

/**
 * There was no complete answer, after all retries. Of a write it is not known whether it was done: repeat it with the same
 * key, now or after a restart.
 */
export class ConnectionError extends FiscalGatewayError {
  override name = 'ConnectionError';
  readonly attempts: number;
  readonly idempotencyKey: string | null;

  constructor(message: string, facts: { attempts: number; idempotencyKey: string | null; cause: unknown }) {
    super(message, { cause: facts.cause });
    this.attempts = facts.attempts;
    this.idempotencyKey = facts.idempotencyKey;
  }
}

/** The token endpoint refused the client (RFC 6749 §5.2). */
export class OAuthError extends FiscalGatewayError {
  override name = 'OAuthError';

  constructor(
    /** `invalid_client`, `invalid_scope`, `slow_down` … */
    readonly code: string,
    readonly status: number,
    description: string,
  ) {
    super(`No access token: ${code}${description === '' ? '' : ` (${description})`}`);
  }
}
