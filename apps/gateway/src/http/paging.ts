import { IsOptional, IsString, Matches, MaxLength } from 'class-validator';
import { isId, type IdPrefix } from '#fiscal-domain';
import { Problem } from '#problems';

const DEFAULT_LIMIT = 20;

/** `?limit=&cursor=` of every list. */
export class PageQuery {
  /** 1–100, default 20. */
  @IsOptional()
  @Matches(/^([1-9]\d?|100)$/, { message: 'limit must be a number from 1 to 100' })
  limit?: string;

  /** `next_cursor` of the page before. */
  @IsOptional()
  @IsString()
  @MaxLength(100)
  cursor?: string;
}

export interface Page<T> {
  data: T[];
  next_cursor: string | null;
}

/** One more than fits is read, to know whether there is a next page. */
export interface PageRequest {
  limit: number;
  /** Id of the last entry of the page before; null = the first page. */
  afterId: string | null;
}

export function limitOf({ limit }: Pick<PageQuery, 'limit'>): number {
  return limit === undefined ? DEFAULT_LIMIT : Number(limit);
}

/** For a cursor that is none of this list. */
export function strangeCursor(): Problem {
  return Problem.at('/cursor', 'invalid_value', 'cursor must be a next_cursor of this list');
}

/** @throws Problem 422 for a cursor that is none of this list */
export function pageRequest(query: PageQuery, prefix: IdPrefix): PageRequest {
  const limit = limitOf(query);
  if (query.cursor === undefined) return { limit, afterId: null };
  const afterId = Buffer.from(query.cursor, 'base64url').toString('latin1');
  if (!isId(prefix, afterId)) throw strangeCursor();
  return { limit, afterId };
}

/** @param rows at most `limit + 1` of them */
export function pageOf<Row extends { id: string }, T>(
  rows: readonly Row[],
  limit: number,
  view: (row: Row) => T,
): Page<T> {
  return pageBy(rows, limit, view, ({ id }) => Buffer.from(id).toString('base64url'));
}

/** The same of a list whose cursor is not its rows' id. */
export function pageBy<Row, T>(
  rows: readonly Row[],
  limit: number,
  view: (row: Row) => T,
  cursorOf: (last: Row) => string,
): Page<T> {
  const page = rows.slice(0, limit);
  const last = rows.length > limit ? page.at(-1) : undefined;
  return { data: page.map(view), next_cursor: last ? cursorOf(last) : null };
}
