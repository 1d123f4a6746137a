import { Injectable } from '@nestjs/common';
import { Metrics } from '#runtime';

/** A signature counts for 300 s and may be 60 s ahead; `created` has whole seconds and the request takes a moment. */
const BUCKETS_S = [1, 2, 5, 10, 30, 60, 120, 300, 900, 3_600];

/**
 * How far the clocks of signers are from this gateway's, by `created` of what they signed. Many clients far off in the same
 * direction mean that the clock of this machine is wrong.
 */
@Injectable()
export class ClockDrift {
  private readonly drift;

  constructor(metrics: Metrics) {
    this.drift = metrics.durations({
      name: 'signature_clock_drift_seconds',
      help: 'Distance of created of a signed request from the time of this gateway; direction is that of the signer',
      labels: ['direction', 'verdict'],
      buckets: BUCKETS_S,
    });
  }

  observe(aheadSeconds: number, verdict: 'accepted' | 'refused'): void {
    this.drift.observe({ direction: aheadSeconds > 0 ? 'ahead' : 'behind', verdict }, Math.abs(aheadSeconds));
  }
}
