import type { MessageChannel } from '#messages';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * How long after each failed try of a message the next one comes (retryDelayMs). A mail server that greylists wants some minutes; a
 * receipt that is later than a day by SMS is of no use.
 */
export const MESSAGE_DELAYS_MS: Readonly<Record<MessageChannel, readonly number[]>> = {
  email: [
    ...[MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, 30 * MINUTE_MS],
    ...[2 * HOUR_MS, 4 * HOUR_MS, 8 * HOUR_MS, 16 * HOUR_MS, 24 * HOUR_MS],
  ],
  sms: [10 * SECOND_MS, MINUTE_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, 2 * HOUR_MS, 6 * HOUR_MS, 12 * HOUR_MS],
  telegram: [10 * SECOND_MS, MINUTE_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, 2 * HOUR_MS, 6 * HOUR_MS, 12 * HOUR_MS],
};

/** How long after an unclear answer, and after each question that found nothing, the provider is asked. Then it has failed. */
export const ASK_DELAYS_MS: readonly number[] = [
  ...[10 * SECOND_MS, MINUTE_MS, 5 * MINUTE_MS, 30 * MINUTE_MS],
  ...[2 * HOUR_MS, 6 * HOUR_MS, 15 * HOUR_MS],
];

/** Longer than the composing of a message and the deadlines of a try; a gateway that dies holds an account no longer than this. */
export const ACCOUNT_LEASE_SECONDS = 60;

/** `HH:MM` of Tashkent, five hours ahead of UTC all year. */
export function tashkentMinutes(now: Date): number {
  return (now.getUTCHours() * 60 + now.getUTCMinutes() + 5 * 60) % (24 * 60);
}

/** How long the quiet hours still last; 0: it is none of them. They may go over midnight. */
export function quietMs(now: Date, from: string | null, until: string | null): number {
  if (from === null || until === null || from === until) return 0;
  const [begin, end, minute] = [minutesOf(from), minutesOf(until), tashkentMinutes(now)];
  const isQuiet = begin < end ? minute >= begin && minute < end : minute >= begin || minute < end;
  if (!isQuiet) return 0;
  const left = (end - minute + 24 * 60) % (24 * 60);
  return left * MINUTE_MS - (now.getUTCSeconds() * SECOND_MS + now.getUTCMilliseconds());
}

function minutesOf(text: string): number {
  const [hours = '0', minutes = '0'] = text.split(':');
  return Number(hours) * 60 + Number(minutes);
}
