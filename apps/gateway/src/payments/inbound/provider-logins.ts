import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Logger } from '#runtime';
import { CallerLogins } from '../../access/limits/failed-logins.js';
import { LOGGER } from '../../tokens.js';

/** Longer than any limit of failed logins needs to be full again. */
const KEPT_MS = 15 * 60_000;
const MAX_ACCOUNTS = 10_000;

/**
 * Wrong passwords of callers that claim to be a provider. They are counted by account and address as failed logins of clients are
 * (docs/adr/0033-failed-logins.md): a caller that was never wrong is always checked, whatever strangers do.
 */
@Injectable()
export class ProviderLogins {
  /** Accounts at which a call was wrong here lately: of others nothing has to be asked before their calls. */
  private readonly failing = new LRUCache<string, true>({ max: MAX_ACCOUNTS, ttl: KEPT_MS });

  constructor(
    private readonly logins: CallerLogins,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Before the password is checked. */
  async isHeldBack(accountId: string, address: string): Promise<boolean> {
    if (!this.failing.has(accountId)) return false;
    return (await this.logins.mayTry({ clientId: accountId, address })).kind === 'wait';
  }

  /** After it turned out wrong. */
  async count(accountId: string, address: string): Promise<void> {
    this.failing.set(accountId, true);
    const { isSpent } = await this.logins.count({ clientId: accountId, address });
    if (isSpent)
      this.logger.warn({ account_id: accountId, address }, 'payment: too many calls with a wrong password, held back');
  }
}
