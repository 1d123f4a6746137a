import { createHash } from 'node:crypto';

/** FastPay's Authorization: `<user>:<sha1(timestamp + secret)>:<timestamp>`, the timestamp in milliseconds. */
export function uzumFastPayAuth(userId: string, secretKey: string, timestampMs: number): string {
  const timestamp = String(timestampMs);
  return `${userId}:${createHash('sha1').update(`${timestamp}${secretKey}`).digest('hex')}:${timestamp}`;
}
