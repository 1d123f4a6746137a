/** What a screen reads whole: a chain of some hundred shops. More are no choice for a list of options, and no picture. */
const MOST = 2_000;
const PAGE = 100;

interface Page<T> {
  data: T[];
  next_cursor: string | null;
}

export interface Listed<T> {
  entries: T[];
  /** False: there are more than a screen reads, and what it says of them all has to say so. */
  isWhole: boolean;
}

/** When so many entries are read again, so that each page of them stands for its own time. */
export function refreshAfter(entries: number, pageMs: number): number {
  return pageMs * Math.max(1, Math.ceil(entries / PAGE));
}

/** Page by page, in the order of the list. */
export async function everyPage<T>(
  read: (query: { limit: number; cursor: string | undefined }) => Promise<Page<T>>,
): Promise<Listed<T>> {
  const found: T[] = [];
  let cursor: string | undefined;
  do {
    const page = await read({ limit: PAGE, cursor });
    found.push(...page.data);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined && found.length < MOST);
  return { entries: found, isWhole: cursor === undefined };
}
