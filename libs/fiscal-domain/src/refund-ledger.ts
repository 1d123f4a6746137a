/**
 * What is left to refund of a sale's lines, and what a part of a line is worth (docs/refunds.md). Everything is taken as
 * the difference of cumulative shares, from what has been refunded to what then will have been: so any sequence of parts adds up
 * to the line exactly, in quantity, tiyin and VAT, also when refunds in between were given up.
 */
import { divideHalfUp, MAX_TIYIN, tiyin, type Tiyin } from './money.js';
import { thousandths, type Thousandths } from './quantity.js';
import type { ReceiptLine } from './receipt.js';
import { vatContained } from './vat.js';

/** The rest of one line of a sale. */
export interface LineLeft {
  /** The sale's line, from 1. */
  line: number;
  /** 0: nothing is left of it. */
  quantityThousandths: number;
  totalTiyin: Tiyin;
  vatTiyin: Tiyin;
  /** Codes of the pieces that have not come back. */
  labels: string[];
}

/** A part of a line, as a refund's line carries it. */
export interface LineShare {
  quantity: Thousandths;
  totalTiyin: Tiyin;
  vatTiyin: Tiyin;
}

/**
 * `exceeds_left`: more than there is. `indivisible`: quantities go in steps of 0.001, and no step, or no price within 2^53, says
 * this sum, or what would remain of the line; all that is left can always be refunded.
 */
export type ShareResult = { kind: 'share'; share: LineShare } | { kind: 'exceeds_left' } | { kind: 'indivisible' };

/**
 * One entry per line of the sale, in its order.
 * @param refunded lines of all refunds that hold something: whatever their status, unless rejected or cancelled
 */
export function leftOf(sold: readonly ReceiptLine[], refunded: readonly ReceiptLine[]): LineLeft[] {
  const partsOf = new Map<number, ReceiptLine[]>(sold.map(({ line }) => [line, []]));
  for (const part of refunded) partsOf.get(part.originalLine ?? 0)?.push(part);
  return sold.map((line) => {
    const parts = partsOf.get(line.line) ?? [];
    const sum = (pick: (part: ReceiptLine) => number): number => parts.reduce((total, part) => total + pick(part), 0);
    const returned = new Set(parts.flatMap((part) => part.labels));
    return {
      line: line.line,
      quantityThousandths: line.quantity - sum((part) => part.quantity),
      totalTiyin: tiyin(line.totalTiyin - sum((part) => part.totalTiyin)),
      vatTiyin: tiyin(line.vatTiyin - sum((part) => part.vatTiyin)),
      labels: line.labels.filter((label) => !returned.has(label)),
    };
  });
}

/** All that is left of a line; null: nothing is. */
export function restOf(left: LineLeft): LineShare | null {
  if (left.quantityThousandths <= 0) return null;
  const { totalTiyin, vatTiyin } = left;
  return { quantity: thousandths(left.quantityThousandths), totalTiyin, vatTiyin };
}

/** A quantity of a line: half-up(total × quantity refunded so far and now / quantity sold), less what has been refunded. */
export function shareOfQuantity(line: ReceiptLine, left: LineLeft, quantity: Thousandths): ShareResult {
  if (quantity > left.quantityThousandths) return { kind: 'exceeds_left' };
  if (quantity === left.quantityThousandths) return shareUpTo(line, left, { quantity, totalTiyin: left.totalTiyin });
  const before = line.totalTiyin - left.totalTiyin;
  const quantityAfter = BigInt(line.quantity - left.quantityThousandths + quantity);
  const after = divideHalfUp(BigInt(line.totalTiyin) * quantityAfter, BigInt(line.quantity));
  // Behind what has been refunded only where a refund before it was given up, or a sum ran ahead of its quantity.
  return shareUpTo(line, left, { quantity, totalTiyin: tiyin(Math.max(Number(after) - before, 0)) });
}

/**
 * A sum of a line. It consumes the proportional quantity, rounded to 0.001: at least 0.001, and less than all that is left
 * unless the sum is all that is left.
 */
export function shareOfSum(line: ReceiptLine, left: LineLeft, totalTiyin: Tiyin): ShareResult {
  if (totalTiyin > left.totalTiyin) return { kind: 'exceeds_left' };
  if (totalTiyin === left.totalTiyin) {
    const rest = restOf(left);
    return rest === null ? { kind: 'exceeds_left' } : shareUpTo(line, left, rest);
  }
  const mostThousandths = left.quantityThousandths - 1;
  if (mostThousandths < 1) return { kind: 'indivisible' };
  const totalAfter = BigInt(line.totalTiyin - left.totalTiyin + totalTiyin);
  const quantityAfter = Number(divideHalfUp(BigInt(line.quantity) * totalAfter, BigInt(line.totalTiyin)));
  const proportional = quantityAfter - (line.quantity - left.quantityThousandths);
  const quantity = thousandths(Math.min(Math.max(proportional, 1), mostThousandths));
  return shareUpTo(line, left, { quantity, totalTiyin });
}

/** VAT as the difference of the VAT of cumulative totals (contract "Values"); with the last tiyin comes the last of the VAT. */
function shareUpTo(
  line: ReceiptLine,
  left: LineLeft,
  { quantity, totalTiyin }: { quantity: Thousandths; totalTiyin: Tiyin },
): ShareResult {
  const remaining = left.quantityThousandths - quantity;
  // What was sold, or is left by parts of which this was asked, can be said as it stands.
  const isSayable =
    remaining === 0 || (hasPrice(quantity, totalTiyin) && hasPrice(remaining, left.totalTiyin - totalTiyin));
  if (!isSayable) return { kind: 'indivisible' };
  if (totalTiyin === left.totalTiyin)
    return { kind: 'share', share: { quantity, totalTiyin, vatTiyin: left.vatTiyin } };
  const before = line.vatTiyin - left.vatTiyin;
  const after = vatContained(line.totalTiyin - left.totalTiyin + totalTiyin, line.vatPercent);
  const vatTiyin = tiyin(Math.min(Math.max(after - before, 0), left.vatTiyin));
  return { kind: 'share', share: { quantity, totalTiyin, vatTiyin } };
}

/**
 * Whether a unit price within 2^53 says at least this total for this quantity: toLocalReceipt raises the price where needed. Without
 * the half tiyin that rounding would add, so that it holds of any such parts together: what is left after one was given up.
 */
function hasPrice(quantity: number, totalTiyin: number): boolean {
  return BigInt(totalTiyin) * 1000n <= BigInt(MAX_TIYIN) * BigInt(quantity);
}
