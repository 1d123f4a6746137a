/** So many requests in so much time: the size of a bucket, and how long it takes to fill when it is empty. */
export interface Rate {
  requests: number;
  seconds: number;
}

/**
 * For who has set none: less than one gateway can accept, more than a national chain sells. Counted by each gateway for itself,
 * so that it costs no call to Redis.
 */
export const DEFAULT_CLIENT_LIMIT: Rate = { requests: 5_000, seconds: 5 };

/**
 * Reads `600/60` (600 requests in 60 seconds) or `off`.
 * @throws Error whose message completes "… must be …"
 */
export function parseRate(text: string): Rate | null {
  if (text === 'off') return null;
  const match = /^([1-9]\d{0,8})\/([1-9]\d{0,4})$/.exec(text);
  if (!match) throw new Error('off or REQUESTS/SECONDS, such as 600/60');
  return { requests: Number(match[1]), seconds: Number(match[2]) };
}
