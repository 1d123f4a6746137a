import type { AnyPage } from './api-types.js';

type ItemOf<Page extends AnyPage> = Page['data'][number];

/** A list that comes in pages: `for await (const one of list)`, or page by page with `pages()`. */
export class PagedList<Page extends AnyPage> implements AsyncIterable<ItemOf<Page>> {
  constructor(
    private readonly fetchPage: (cursor: string | null) => Promise<Page>,
    private readonly begin: string | null,
  ) {}

  /** The page at which the list begins. */
  first(): Promise<Page> {
    return this.fetchPage(this.begin);
  }

  /** `next_cursor` of a page that was worked through is the place to go on, also after a restart. */
  async *pages(): AsyncGenerator<Page, void, undefined> {
    let cursor = this.begin;
    for (;;) {
      const page = await this.fetchPage(cursor);
      yield page;
      cursor = page.next_cursor;
      if (cursor === null || isLast(page)) return;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ItemOf<Page>, void, undefined> {
    for await (const page of this.pages()) yield* page.data as ItemOf<Page>[];
  }

  /** At most so many, for lists that are known to be short. */
  async toArray({ limit }: { limit: number }): Promise<ItemOf<Page>[]> {
    const found: ItemOf<Page>[] = [];
    if (limit > 0) for await (const one of this) if (found.push(one) >= limit) break;
    return found;
  }
}

/** Feeds always have a place to go on, and say whether there is more. */
function isLast(page: AnyPage): boolean {
  return 'has_more' in page && page.has_more === false;
}
