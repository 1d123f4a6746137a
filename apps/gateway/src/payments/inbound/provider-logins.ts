import { Inject, Injectable } from '@nestjs/common';
import { growingCache, type Logger } from '#runtime';
import { DEFINITIONS } from '#payments';
import { CallerLogins } from '../../access/limits/failed-logins.js';
import { LOGGER } from '../../tokens.js';
import { reader } from '../accounts/account-settings.js';
import { isDriven, type ProviderRequest } from './provider-protocol.js';

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
  private readonly failing = growingCache<string, true>(MAX_ACCOUNTS, { ttl: KEPT_MS });

  constructor(
    private readonly logins: CallerLogins,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /**
   * Before a call is answered, so that of calls that come at the same moment no more passwords are answered for than one after the other.
   * One that is held back is answered as a wrong one, also with the right password. What proves itself by more than that is never.
   */
  async isHeldBack({ account, address, request }: ProviderRequest): Promise<boolean> {
    const definition = DEFINITIONS[account.provider];
    if (!definition.isCaller || !isDriven(definition, request.operation)) return false;
    const { id: accountId } = account;
    const isRight = definition.isCaller(request.authorization, reader(account));
    if (isRight && !this.failing.has(accountId)) return false;
    if (!isRight) this.failing.set(accountId, true);
    const check = (): Promise<true | null> => Promise.resolve(isRight ? true : null);
    const judged = await this.logins.judge({ clientId: accountId, address }, check);
    if (judged.kind === 'wrong' && judged.isSpent)
      this.logger.warn({ account_id: accountId, address }, 'payment: too many calls with a wrong password, held back');
    return judged.kind === 'wait';
  }
}
