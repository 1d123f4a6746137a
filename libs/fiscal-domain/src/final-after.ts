/**
 * How long after its intent the repetition of a request under a known key may begin: it asks who is there first, several round trips on a slow line. Whatever
 * would make it harmful (a final refusal, parking, another module) takes a settle time or a person.
 */
export const REPEAT_GUARD_MS = 10_000;
/** For so long a lane lock counts as held after its session was asked last and has answered. */
export const CONFIRMED_FOR_MS = 5_000;
/** For so long after something was found out a relay that stood still, and has lost the lane since, may begin a repetition. */
const STILL_REPEATED_MS = CONFIRMED_FOR_MS + REPEAT_GUARD_MS;

/**
 * After how long without a new proof what was found out about a request is final at a register with this settle time. Their sum: the repetition that leaves
 * last may then still sleep on its way for as long as any request.
 */
export function finalAfterMs(settleMs: number): number {
  return settleMs + STILL_REPEATED_MS;
}
