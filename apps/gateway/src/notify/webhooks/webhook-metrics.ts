import { Injectable } from '@nestjs/common';
import { Metrics } from '#runtime';
import type { Result } from './delivery-outcome.js';

/** Requests to the receivers of webhooks and callbacks; never by receiver, of which there may be any number. */
@Injectable()
export class WebhookMetrics {
  private readonly requests;

  constructor(metrics: Metrics) {
    this.requests = metrics.durations({
      name: 'webhook_request_duration_seconds',
      help: 'Requests to receivers of webhooks, by what became of them',
      labels: ['outcome'],
    });
  }

  sent(outcome: Result, durationMs: number): void {
    this.requests.observe({ outcome }, durationMs / 1_000);
  }
}
