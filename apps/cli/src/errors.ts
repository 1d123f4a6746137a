import { ConnectionError, OAuthError, ProblemError, UsageError, WaitTimeoutError } from '#sdk';
import { EXIT, type ExitCode } from './exit-codes.js';
import { plain } from './output/table.js';
import { NoProfileError } from './profiles.js';

/** How a command ended that did not end well. */
export interface Failure {
  exitCode: ExitCode;
  /** For people. */
  lines: string[];
  /** For programs, under `--json`. */
  facts: Record<string, unknown>;
}

/** What the command line itself says wrong, seen by us and not by its parser. */
export class CommandError extends Error {
  override name = 'CommandError';

  constructor(
    message: string,
    readonly exitCode: ExitCode = EXIT.usage,
  ) {
    super(message);
  }
}

/** @returns null for what no command expects: a fault of this program */
export function failureOf(error: unknown): Failure | null {
  if (error instanceof CommandError) return failure(error.exitCode, error);
  if (error instanceof NoProfileError) return failure(EXIT.denied, error);
  if (error instanceof UsageError) return failure(EXIT.usage, error);
  if (error instanceof OAuthError) return failure(EXIT.denied, error, { code: error.code, status: error.status });
  if (error instanceof WaitTimeoutError) return failure(EXIT.onItsWay, error, { receipt: error.receipt });
  if (error instanceof ConnectionError) {
    const hint = error.idempotencyKey === null ? [] : [`Repeat it with the same key: --key ${error.idempotencyKey}`];
    return failure(EXIT.noAnswer, error, { idempotency_key: error.idempotencyKey }, hint);
  }
  if (error instanceof ProblemError) return problemFailure(error);
  return null;
}

function problemFailure(error: ProblemError): Failure {
  const { code, status, problem, requestId, receiptId, faults, isRetryable } = error;
  const facts = { code, status, request_id: requestId, receipt_id: receiptId, errors: faults, problem };
  const lines = faults.map(({ pointer, code: fault, detail }) => plain(`  ${pointer} ${fault}: ${detail}`));
  if (receiptId !== null) lines.push(`  The receipt is stored as rejected: ${receiptId}`);
  if (code === 'session_invalid') lines.push('  Run `fgw login --browser`.');
  if (requestId !== null) lines.push(`  Request ${plain(requestId)}`);
  return failure(exitCodeOf(status, receiptId, isRetryable), error, facts, lines);
}

function exitCodeOf(status: number, receiptId: string | null, isRetryable: boolean): ExitCode {
  if (receiptId !== null) return EXIT.notRegistered;
  if (status === 401 || status === 403) return EXIT.denied;
  return isRetryable || status === 429 || status >= 500 ? EXIT.noAnswer : EXIT.refused;
}

function failure(exitCode: ExitCode, error: Error, facts: object = {}, more: string[] = []): Failure {
  const message = plain(error.message);
  return { exitCode, lines: [message, ...more], facts: { error: error.name, message, ...facts } };
}
