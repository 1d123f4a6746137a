import { until } from '../../libs/runtime/src/testing/until.js';
import { sql } from './database.js';
import type { GatewayClient } from './gateway-client.js';

/** As `GET /v1/events` shows it, as far as tests read it. */
export interface FeedEvent {
  id: string;
  type: string;
  data: Record<string, unknown>;
}

const PER_PAGE = 100;

/**
 * The merchant's feed, once it has all that is committed by now. It stops before the oldest transaction in flight, be it of another merchant
 * (docs/adr/0056-age-of-the-feed.md), so that it may be behind an answer for as long as that one takes.
 */
export async function eventsSoFar(
  database: { adminUrl: string },
  client: GatewayClient,
  type?: string,
): Promise<FeedEvent[]> {
  const committed = await sql<{ id: string }>(
    database,
    'SELECT id FROM events WHERE merchant_id = $1 AND ($2::text IS NULL OR type = $2)',
    [client.merchant.merchantId, type ?? null],
  );
  return until(
    `the feed has ${String(committed.length)} events`,
    () => wholeFeed(client, type),
    (shown) => committed.every(({ id }) => shown.some((event) => event.id === id)),
  );
}

async function wholeFeed(client: GatewayClient, type?: string): Promise<FeedEvent[]> {
  const shown: FeedEvent[] = [];
  for (let cursor = ''; ;) {
    const filter = type === undefined ? '' : `&type=${type}`;
    const { body } = await client.get(`/v1/events?limit=${String(PER_PAGE)}${filter}${cursor}`);
    const page = body as unknown as { data: FeedEvent[]; has_more: boolean; next_cursor: string | null };
    shown.push(...page.data);
    if (!page.has_more) return shown;
    cursor = `&cursor=${String(page.next_cursor)}`;
  }
}
