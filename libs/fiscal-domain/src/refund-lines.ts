import { lineGross } from './line.js';
import { tiyin, type Tiyin } from './money.js';
import type { Thousandths } from './quantity.js';
import type { ReceiptLine } from './receipt.js';
import { restOf, shareOfQuantity, shareOfSum, type LineLeft, type LineShare } from './refund-ledger.js';

/** What is to come back of one line of the sale. `labels` null: not named. */
export type LineRequest =
  | { by: 'quantity'; line: number; quantity: Thousandths; labels: readonly string[] | null }
  | { by: 'sum'; line: number; totalTiyin: Tiyin };

export type RefusedRequest =
  /** The sale has no such line. */
  | 'line_unknown'
  /** The line was named before in the same request. */
  | 'line_repeated'
  | 'exceeds_left'
  | 'indivisible'
  /** Pieces carry codes: the request must name those that come back. */
  | 'labels_required'
  /** Not one code for each piece. */
  | 'labels_miscounted'
  /** A code that the line does not have, or that has come back, or that is named twice. */
  | 'label_not_left'
  /** A part of a marked piece does not exist. */
  | 'sum_of_pieces';

export interface RefundRefusal {
  reason: RefusedRequest;
  /** 0-based position of the request. */
  index: number;
  /** Null: there is no such line. */
  left: LineLeft | null;
}

export type RefundLines = { kind: 'lines'; lines: ReceiptLine[] } | { kind: 'refused'; refusals: RefundRefusal[] };

/** All that is left of all lines; none when nothing is. */
export function allThatIsLeft(sold: readonly ReceiptLine[], left: readonly LineLeft[]): ReceiptLine[] {
  const parts = sold.flatMap((line, index) => {
    const rest = left[index];
    const share = rest ? restOf(rest) : null;
    return rest && share ? [partOf(line, share, rest.labels)] : [];
  });
  return numbered(parts);
}

/** The requested parts as a refund's lines, or every reason why not. */
export function partsOf(
  sold: readonly ReceiptLine[],
  left: readonly LineLeft[],
  requests: readonly LineRequest[],
): RefundLines {
  const parts: ReceiptLine[] = [];
  const refusals: RefundRefusal[] = [];
  const named = new Set<number>();
  for (const [index, request] of requests.entries()) {
    const line = sold.find((each) => each.line === request.line);
    const rest = left.find((each) => each.line === request.line) ?? null;
    const part =
      !line || !rest ? 'line_unknown' : named.has(request.line) ? 'line_repeated' : take(line, rest, request);
    named.add(request.line);
    if (typeof part === 'string') refusals.push({ reason: part, index, left: rest });
    else parts.push(part);
  }
  return refusals.length > 0 ? { kind: 'refused', refusals } : { kind: 'lines', lines: numbered(parts) };
}

function take(line: ReceiptLine, left: LineLeft, request: LineRequest): ReceiptLine | RefusedRequest {
  const isPart = request.by === 'sum' && request.totalTiyin < left.totalTiyin;
  if (isPart && line.labels.length > 0) return 'sum_of_pieces';
  const result =
    request.by === 'sum' ? shareOfSum(line, left, request.totalTiyin) : shareOfQuantity(line, left, request.quantity);
  if (result.kind !== 'share') return result.kind;
  const asked = request.by === 'sum' ? null : request.labels;
  const labels = labelsOf(left, result.share, asked);
  return typeof labels === 'string' ? labels : partOf(line, result.share, labels);
}

/** One code for each returned piece. Without codes left there is nothing to say: the goods are not marked. */
function labelsOf(
  left: LineLeft,
  { quantity }: LineShare,
  asked: readonly string[] | null,
): readonly string[] | RefusedRequest {
  const isAll = quantity === left.quantityThousandths;
  if (asked === null) return isAll ? left.labels : left.labels.length === 0 ? [] : 'labels_required';
  if (new Set(asked).size < asked.length || asked.some((label) => !left.labels.includes(label)))
    return 'label_not_left';
  if (left.labels.length > 0 && asked.length * 1000 !== quantity) return 'labels_miscounted';
  return asked;
}

/** Price per unit as sold. A share that price × quantity cannot say is put right on the wire (to-local-receipt.ts). */
function partOf(line: ReceiptLine, share: LineShare, labels: readonly string[]): ReceiptLine {
  const excess = lineGross(line.priceTiyin, share.quantity) - BigInt(share.totalTiyin);
  return {
    ...line,
    ...share,
    discountTiyin: tiyin(excess > 0n ? Number(excess) : 0),
    labels: [...labels],
    originalLine: line.line,
  };
}

function numbered(parts: readonly ReceiptLine[]): ReceiptLine[] {
  return parts.map((part, index) => ({ ...part, line: index + 1 }));
}
