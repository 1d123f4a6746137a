import { calibrate, sameReading, type CounterReading } from '#fiscal-domain';
import type { LastKnown } from '#ledger';

/**
 * Whether a register without keys has registered nothing since the copy was made. The copy has the reading before the last
 * send, and the registration that answered it if there was one: the counters must stand there, or exactly one document
 * further, which is that one.
 */
export function standsAsCopied(
  copy: { reading: CounterReading; lastKnown: LastKnown | null },
  now: CounterReading,
): boolean {
  if (copy.lastKnown === null) return sameReading(copy.reading, now);
  return copy.reading.terminalId === now.terminalId && calibrate(copy.reading, now, copy.lastKnown) !== null;
}
