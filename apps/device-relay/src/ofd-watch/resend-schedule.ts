import { OFD_ALARM_MS, OFD_WARNING_MS } from '#fiscal-domain';

/** Share of the ordinary pause, by the age of the oldest unsent document: the nearer the fuse, the more often. */
const STEPS: readonly { fromMs: number; share: number }[] = [
  { fromMs: 46 * 3_600_000, share: 1 / 15 },
  { fromMs: OFD_ALARM_MS, share: 1 / 6 },
  { fromMs: OFD_WARNING_MS, share: 1 / 3 },
];
/** Spread by ±20 %: an OFD that comes back is not met by the whole fleet at once. */
const JITTER = 0.2;
/** Some documents went through: the rest follows shortly. */
const AFTER_PROGRESS_SHARE = 1 / 15;

/**
 * How long to wait before unsent documents are sent again.
 *
 * @param ageMs of the oldest unsent document; of an unknown age counts as young
 * @param everyMs the ordinary pause, setting OFD_RESEND_MS (15 min: then 5 min from 24 h on, 2.5 min from 40 h, 1 min from 46 h)
 */
export function resendAfterMs(
  ageMs: number,
  { everyMs, hasProgress, random }: { everyMs: number; hasProgress: boolean; random: () => number },
): number {
  const byAge = STEPS.find(({ fromMs }) => ageMs >= fromMs)?.share ?? 1;
  const share = hasProgress ? Math.min(byAge, AFTER_PROGRESS_SHARE) : byAge;
  return Math.round(everyMs * share * (1 - JITTER + 2 * JITTER * random()));
}
