import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import type { Logger } from '#runtime';
import { LOGGER } from '../../tokens.js';
import { OauthRepository } from './oauth.repository.js';

const INTERVAL_MS = 60 * 60 * 1_000;

/** Sweeps tokens that nobody can use any more, so that the table stays small. Any number of instances may do it. */
@Injectable()
export class ExpiredTokens implements OnApplicationBootstrap, OnModuleDestroy {
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly repository: OauthRepository,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => {
      void this.sweep();
    }, INTERVAL_MS);
    this.timer.unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.timer);
  }

  async sweep(): Promise<void> {
    try {
      const deleted = await this.repository.deleteExpiredTokens();
      const assertions = await this.repository.deleteExpiredAssertions();
      this.logger.debug({ deleted, assertions }, 'expired tokens and assertions swept');
    } catch (error) {
      // The next hour tries again; nothing depends on it.
      this.logger.warn({ err: error }, 'expired tokens could not be swept');
    }
  }
}
