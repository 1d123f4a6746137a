import { Inject, Injectable } from '@nestjs/common';
import { PeriodicProvider, type Logger } from '#runtime';
import { LOGGER } from '../../tokens.js';
import { OauthRepository } from './oauth.repository.js';

const INTERVAL_MS = 60 * 60 * 1_000;

/** Sweeps tokens that no client can use any more, so that the table stays small. Any number of instances may do it. */
@Injectable()
export class ExpiredTokens extends PeriodicProvider {
  constructor(
    private readonly repository: OauthRepository,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super(
      {
        ...{ name: 'sweeping expired tokens', everyMs: INTERVAL_MS, startsAfterMs: INTERVAL_MS },
        run: () => this.sweep(),
      },
      logger,
    );
  }

  async sweep(): Promise<void> {
    const deleted = await this.repository.deleteExpiredTokens();
    const assertions = await this.repository.deleteExpiredAssertions();
    this.logger.debug({ deleted, assertions }, 'expired tokens and assertions swept');
  }
}
