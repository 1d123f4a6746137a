import { allThatIsLeft, type LineLeft, type ReceiptLine } from '#fiscal-domain';
import type { ProblemError } from '#problems';
import type { SellerBody } from './refund-body.js';
import { isGiven } from '../../http/given.js';

/** What is left of one seller's lines in a sale of several, or why there is nothing to refund. */
export type LinesOfSeller = { kind: 'lines'; lines: ReceiptLine[] } | { kind: 'refused'; faults: ProblemError[] };

export function linesOfSeller(
  sold: readonly ReceiptLine[],
  left: readonly LineLeft[],
  seller: SellerBody,
): LinesOfSeller {
  const refused = (code: string, detail: string, pointer = '/seller'): LinesOfSeller => ({
    kind: 'refused',
    faults: [{ pointer, code, detail }],
  });
  const { tin, pinfl, own } = seller;
  const given = [tin, pinfl, own].filter(isGiven);
  if (given.length !== 1) return refused('invalid_value', 'Say one of tin, pinfl and own: whose lines come back.');
  const isTheirs = (line: ReceiptLine | undefined): boolean => line !== undefined && isOf(line, seller);
  if (!sold.some(isTheirs)) return refused('line_unknown', 'The sale has no line of this seller.');
  // The two stand side by side, line by line.
  const rest = left.filter((_, index) => isTheirs(sold[index]));
  const lines = allThatIsLeft(sold.filter(isTheirs), rest);
  if (lines.length === 0) return refused('exceeds_left', 'All of this seller’s lines have come back.');
  return { kind: 'lines', lines };
}

function isOf({ commission }: ReceiptLine, { tin, pinfl }: SellerBody): boolean {
  if (isGiven(tin)) return commission?.tin === tin;
  if (isGiven(pinfl)) return commission?.pinfl === pinfl;
  return !isGiven(commission?.tin) && !isGiven(commission?.pinfl);
}
