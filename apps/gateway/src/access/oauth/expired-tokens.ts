import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Periodic, type Logger } from '#runtime';
import { LOGGER } from '../../tokens.js';
import { OauthRepository } from './oauth.repository.js';

const INTERVAL_MS = 60 * 60 * 1_000;

/** Sweeps tokens that no client can use any more, so that the table stays small. Any number of instances may do it. */
@Injectable()
export class ExpiredTokens implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly rounds: Periodic;

  constructor(
    private readonly repository: OauthRepository,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    const run = (): Promise<void> => this.sweep();
    this.rounds = new Periodic(
      { name: 'sweeping expired tokens', everyMs: INTERVAL_MS, startsAfterMs: INTERVAL_MS, run },
      logger,
    );
  }

  onApplicationBootstrap(): void {
    this.rounds.start();
  }

  onModuleDestroy(): Promise<void> {
    return this.rounds.stop();
  }

  async sweep(): Promise<void> {
    const deleted = await this.repository.deleteExpiredTokens();
    const assertions = await this.repository.deleteExpiredAssertions();
    this.logger.debug({ deleted, assertions }, 'expired tokens and assertions swept');
  }
}
