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
/** Letters of an id that a program of this system makes, but of a sandbox. */
const ID_LENGTH = 30;
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
  const all = boundsOfAll(receiptIds);
  return all === null ? '' : `AND r.id ~>=~ '${all.from}' AND r.id ~<~ '${all.to}'`;
}

/** Null: of nothing, or of everything. */
function boundsOfAll(receiptIds: readonly (string | null)[]): Bounds | null {
  let all: Bounds | null = null;
  for (const id of receiptIds) {
    if (id === null || (all !== null && isWithin(id, all))) continue;
    const own = boundsOf(id);
    if (own === null) return null;
    all = all === null ? own : { from: least(all.from, own.from), to: greatest(all.to, own.to) };
  }
  return all;
}

function boundsOf(id: string): Bounds | null {
  if (isWithin(id, SANDBOXES)) return SANDBOXES;
  if (!OF_A_TIME.test(id)) return null;
  const at = timeOfId(id);
  return { from: firstIdAt('rcp', halfYearOf(at)), to: firstIdAt('rcp', halfYearOf(at, 1)) };
}

/** @returns the first moment of the half-year of a moment, or of one so many later */
function halfYearOf(at: Date, later = 0): Date {
  return new Date(Date.UTC(at.getUTCFullYear(), (at.getUTCMonth() < 6 ? 0 : 6) + 6 * later));
}

/** Receipts of some half-years, and their refunds. */
export interface ReceiptsWithin {
  /** Behind another condition on `receipts`. */
  receipts: Prisma.Sql;
  /** The same on refunds `f` of these receipts. They are later, but for clocks: a gateway's may be behind, of which half a year is enough. */
  refunds: Prisma.Sql;
}

const EVERYWHERE: ReceiptsWithin = { receipts: Prisma.empty, refunds: Prisma.empty };

/** Half-years before and after this one that are named to readers. Each is a text of its own, which sessions keep: ids of any time can be asked for. */
const [NAMED_BACK, NAMED_AHEAD] = [-20, 4];

/** What names the half-years of receipts that are read by these ids: one, or two that follow each other. */
export function receiptsWithin(ids: readonly string[], now = new Date()): ReceiptsWithin {
  const bounds = boundsOfAll(ids);
  return bounds !== null && isNamedToReaders(bounds, now) ? within(bounds) : EVERYWHERE;
}

function isNamedToReaders({ from, to }: Bounds, now: Date): boolean {
  if (from === SANDBOXES.from) return true;
  return (
    from >= firstNamed(NAMED_BACK, now) &&
    to <= firstNamed(NAMED_AHEAD, now) &&
    to <= firstIdAt('rcp', halfYearOf(timeOfFirst(from), 2))
  );
}

const firstNamed = (later: number, now: Date): string => firstIdAt('rcp', halfYearOf(now, later));

function within({ from, to }: Bounds): ReceiptsWithin {
  return {
    receipts: Prisma.raw(`AND receipts.id ~>=~ '${from}' AND receipts.id ~<~ '${to}'`),
    refunds: refundsSince(from),
  };
}

/** @param from the first id of a half-year, or of sandboxes */
function refundsSince(from: string): Prisma.Sql {
  const since = from === SANDBOXES.from ? from : firstIdAt('rcp', halfYearOf(timeOfFirst(from), -1));
  return Prisma.raw(`AND f.id ~>=~ '${since}'`);
}

/** Of the first id of a time. */
const timeOfFirst = (from: string): Date => timeOfId(from.padEnd(ID_LENGTH, '0'));

/** Of a list that is read newest first: from the beginning of one half-year on. `receipts` names it by the order of the index as well, which else would be read beyond it. */
export interface ReceiptsSince extends ReceiptsWithin {
  /** The first id within. */
  from: string;
}

/**
 * Of two half-years, in which there is nearly always a page: the one of this id, or without one the one that is under way, and the one before.
 * Null: it stands in none, or in one that is not named to readers; nothing is to be named.
 */
export function twoHalfYearsBefore(id: string | null, now: Date, today = new Date()): ReceiptsSince | null {
  if (id !== null && !OF_A_TIME.test(id)) return null;
  const from = firstIdAt('rcp', halfYearOf(id === null ? now : timeOfId(id), -1));
  if (from < firstNamed(NAMED_BACK, today) || from > firstNamed(NAMED_AHEAD, today)) return null;
  return {
    from,
    receipts: Prisma.raw(`AND receipts.id ~>=~ '${from}' AND receipts.id >= '${from}'`),
    refunds: refundsSince(from),
  };
}

/** Byte by byte, as those operators compare. */
const isWithin = (id: string, { from, to }: Bounds): boolean => id >= from && id < to;
const least = (one: string, other: string): string => (one < other ? one : other);
const greatest = (one: string, other: string): string => (one > other ? one : other);
