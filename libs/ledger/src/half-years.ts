import { Prisma } from '#database';
import { firstIdAt, timeOfId } from '#runtime';

/*
 * In which half-year a receipt was made its id says. A statement that names the half-years of its receipts, as words and not as values, will be
 * planned for them alone where receipts stand in partitions, and costs what it costs with one table. Its text is a new one twice a year, and
 * another one where half-years or sandboxes meet in it. The
 * operators are those of `text_pattern_ops`, which the primary key does not have: as a condition of its index the words would be a way to read a
 * whole half-year (docs/adr/0200-half-years-as-words-of-a-statement.md).
 */

interface Bounds {
  /** The first id within. */
  from: string;
  /** The first one behind. */
  to: string;
}

/** Ids of sandboxes stand behind those of all times. */
const SANDBOXES: Bounds = { from: 'rcp_t', to: 'rcp_u' };
/** As programs of this system make them, until the year 3084. */
const OF_A_TIME = /^rcp_0[0-9a-hjkmnp-tv-z]{25}$/;
/** Receipts are of one half-year or two; who asks for old ones leaves no more than these behind. */
const MOST_MADE = 16;

/**
 * A part of a statement that the half-years of its receipts decide: it is made once for each of them.
 * @param make `within` stands behind another condition on `r`
 */
export function inHalfYears<Part>(
  make: (within: Prisma.Sql) => Part,
): (receiptIds: readonly (string | null)[]) => Part {
  const made = new Map<string, Part>();
  return (receiptIds) => {
    const words = wordsOf(receiptIds);
    const known = made.get(words);
    if (known !== undefined) return known;
    if (made.size >= MOST_MADE) made.clear();
    const part = make(Prisma.raw(words));
    made.set(words, part);
    return part;
  };
}

/** The words alone. */
export const withinHalfYears = inHalfYears((within) => within);

/** None where a receipt has an id that no program of this system makes: it may be anywhere. */
function wordsOf(receiptIds: readonly (string | null)[]): string {
  let all: Bounds | null = null;
  for (const id of receiptIds) {
    if (id === null || (all !== null && isWithin(id, all))) continue;
    const own = boundsOf(id);
    if (own === null) return '';
    all = all === null ? own : { from: least(all.from, own.from), to: greatest(all.to, own.to) };
  }
  return all === null ? '' : `AND r.id ~>=~ '${all.from}' AND r.id ~<~ '${all.to}'`;
}

function boundsOf(id: string): Bounds | null {
  if (isWithin(id, SANDBOXES)) return SANDBOXES;
  if (!OF_A_TIME.test(id)) return null;
  const at = timeOfId(id);
  const half = at.getUTCMonth() < 6 ? 0 : 6;
  const firstOf = (month: number): string => firstIdAt('rcp', new Date(Date.UTC(at.getUTCFullYear(), month)));
  return { from: firstOf(half), to: firstOf(half + 6) };
}

/** Byte by byte, as those operators compare. */
const isWithin = (id: string, { from, to }: Bounds): boolean => id >= from && id < to;
const least = (one: string, other: string): string => (one < other ? one : other);
const greatest = (one: string, other: string): string => (one > other ? one : other);
