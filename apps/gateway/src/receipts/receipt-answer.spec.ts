// Breaks if the code on top of the answer does not say why the register refused the receipt.
import { sampleDocument } from '#database/testing';
import { decideRefusal } from '#fiscal-domain';
import { refusal, refusedByModule } from '#fiscal-module';
import { problemKind, statusOf } from '#http';
import type { ReceiptRow } from '#ledger';
import { acceptedRow } from './accepted-row.js';
import { answerFor } from './receipt-answer.js';

const accepted = acceptedRow(
  {
    ...{ id: 'rcp_1', externalId: null, deviceId: 'dev_1', branchId: null, cashierId: null, refundOf: null },
    document: sampleDocument(),
  },
  new Date('2026-01-02T03:04:05Z'),
);

test.each(['sums_full', 'payment_mismatch'] as const)('a module refuses the document: %s', (reason) => {
  const outcome = decideRefusal(refusedByModule(refusal(reason)), false);
  if (outcome.kind !== 'rejected') throw new Error('The refusal is not about the document');
  const { rejection } = outcome;
  const row: ReceiptRow = { ...accepted, status: 'rejected', rejection };
  const answer = answerFor(row);
  if (answer.kind !== 'rejected') throw new Error('The receipt is rejected');
  expect([answer.problem.code, statusOf(answer.problem), answer.problem.errors[0]?.code]).toEqual([
    ...[rejection.code, 422, rejection.code],
  ]);
  expect(problemKind(answer.problem.code).retryable).toBe(false);
});
