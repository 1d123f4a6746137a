import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { Periodic, untilBeat, type Logger } from '#runtime';
import { LOGGER } from '../../tokens.js';
import { ClearMessages } from './clear-messages.js';
import { MessageRepository, type ClaimedAccount } from './message.repository.js';
import { SendMessages } from './send-messages.js';

const POLL_EVERY_MS = 500;
const CLEAR_EVERY_MS = 600_000;
/** Accounts that are served at the same time by this process: each merchant has three at most. */
const PLACES = 24;

/** Sends messages beside the requests of this gateway, as deliveries to webhooks are (delivery-loop.ts). No sale waits for it. */
@Injectable()
export class MessageLoop implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  /** By account. */
  private readonly turns = new Map<string, Promise<void>>();
  private claiming: Promise<void> | null = null;
  private readonly clearing: Periodic;

  constructor(
    private readonly sender: SendMessages,
    private readonly messages: MessageRepository,
    clearing: ClearMessages,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.clearing = new Periodic(
      { name: 'clearing messages', everyMs: CLEAR_EVERY_MS, run: () => clearing.execute() },
      logger,
    );
  }

  onApplicationBootstrap(): void {
    this.clearing.start();
    this.claiming = this.claimAgainAndAgain();
  }

  /** A message under way ends within its own deadline; one that is cut off is judged by its open try. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await Promise.all([this.claiming, this.clearing.stop()]);
    await Promise.all(this.turns.values());
  }

  private async claimAgainAndAgain(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await this.claim().catch((error: unknown) => this.logger.warn({ err: error }, 'messages could not be worked on'));
      await delay(untilBeat(POLL_EVERY_MS), undefined, { signal, ref: false }).catch(() => 'stopped');
    }
  }

  private async claim(): Promise<void> {
    if (!(await this.messages.isAnyDue())) return;
    const places = PLACES - this.turns.size;
    const accounts = places > 0 ? await this.messages.claimAccounts(places, [...this.turns.keys()]) : [];
    for (const account of accounts) this.begin(account);
  }

  private begin(account: ClaimedAccount): void {
    const turn = this.sender
      .execute(account, this.stopping.signal)
      .catch((error: unknown) => {
        // Its lease ends by itself; then it is due as before.
        this.logger.warn({ err: error, account_id: account.id }, 'a message account could not be worked on');
      })
      .finally(() => void this.turns.delete(account.id));
    this.turns.set(account.id, turn);
  }
}
