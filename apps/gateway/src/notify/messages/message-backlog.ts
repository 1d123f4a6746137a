import { Inject, Injectable } from '@nestjs/common';
import { Metrics, PeriodicProvider, type Logger } from '#runtime';
import { LOGGER } from '../../tokens.js';
import { MessageRepository } from './message.repository.js';

const READ_EVERY_MS = 15_000;

/** How many messages are due, for the metrics. Read at intervals: a scrape must not wait for the database. */
@Injectable()
export class MessageBacklog extends PeriodicProvider {
  private waiting: number | null = null;
  constructor(
    private readonly messages: MessageRepository,
    @Inject(LOGGER) logger: Logger,
    metrics: Metrics,
  ) {
    super({ name: 'counting messages that wait', everyMs: READ_EVERY_MS, run: () => this.read() }, logger);
    metrics.gauge(
      {
        name: 'messages_waiting',
        help: 'Messages to buyers that are due and not sent, of all merchants; counted up to 10000',
        // Every gateway counts those of the whole system.
        together: 'max',
      },
      // Nothing is better than the number from before the database went away.
      (gauge) => (this.waiting === null ? gauge.remove() : gauge.set(this.waiting)),
    );
  }

  private async read(): Promise<void> {
    try {
      this.waiting = await this.messages.countDue();
    } catch (error) {
      this.waiting = null;
      throw error;
    }
  }
}
