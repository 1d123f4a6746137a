import type { ReceiptRow } from '#ledger';
import { HttpProblem } from '#http';
import { isProblemCode, type Problem } from '#problems';

export type Answer =
  | { kind: 'receipt'; status: 200 | 201 | 202; headers: Record<string, string> }
  | { kind: 'rejected'; problem: Problem };

/** Seconds after which asking again for a receipt that waits for its register makes sense. */
const RETRY_AFTER_SECONDS = 2;

/** The answer to a sale by the receipt's present status; the same for a first call and a replay. */
export function answerFor(row: ReceiptRow): Answer {
  const location = `/v1/receipts/${row.id}`;
  switch (row.status) {
    case 'registered':
      return { kind: 'receipt', status: 201, headers: { Location: location } };
    case 'cancelled':
      return { kind: 'receipt', status: 200, headers: { Location: location } };
    case 'rejected':
      return { kind: 'rejected', problem: rejectionProblem(row, location) };
    case 'awaiting_payment':
    case 'accepted':
    case 'sending':
    case 'unknown':
      return {
        kind: 'receipt',
        status: 202,
        headers: { Location: location, 'Retry-After': String(RETRY_AFTER_SECONDS) },
      };
  }
}

/** The register refused it: the receipt stays readable under Location, the caller gets the register's code. */
function rejectionProblem(row: ReceiptRow, location: string): Problem {
  const rejection = row.rejection ?? {
    code: 'receipt_refused',
    rule: null,
    detail: 'Refused by the register.',
    line: null,
  };
  const code = isProblemCode(rejection.code) ? rejection.code : 'receipt_refused';
  const pointer = rejection.line === null ? '' : `/items/${rejection.line - 1}`;
  const { rule, detail } = rejection;
  const errors = [{ pointer, code: rejection.code, ...(rule === null ? {} : { rule }), detail }];
  return new HttpProblem(code, `The cash register refused receipt ${row.id}: ${detail}`, { location }, { errors });
}
