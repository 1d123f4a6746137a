import { Injectable } from '@nestjs/common';
import { Metrics } from '#runtime';
import type { MessageChannel, SendOutcome } from '#messages';

/** Tries to send messages; never by account or address, of which there may be any number. */
@Injectable()
export class MessageMetrics {
  private readonly tries;

  constructor(metrics: Metrics) {
    this.tries = metrics.durations({
      name: 'message_send_duration_seconds',
      help: 'Tries to send messages to buyers, by channel and by what the provider or mail server answered',
      labels: ['channel', 'outcome'],
    });
  }

  tried(channel: MessageChannel, outcome: SendOutcome['kind'], durationMs: number): void {
    this.tries.observe({ channel, outcome }, durationMs / 1_000);
  }
}
