import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { MESSAGE_DEFINITIONS, type MessageSender } from '#messages';
import { reader } from './account-rows.js';
import { MessageAccounts } from './message-accounts.js';
import { MessageReach } from './message-reach.js';

interface Known {
  /** Of its settings: another one is another sender. */
  fingerprint: string;
  sender: MessageSender;
}

/** The sender of an account; kept for the token that some of them hold. */
@Injectable()
export class MessageSenders {
  private readonly senders = new LRUCache<string, Known>({ max: 1_000 });

  constructor(
    private readonly accounts: MessageAccounts,
    private readonly reach: MessageReach,
  ) {}

  /** Null: the account has been removed. */
  async of(accountId: string): Promise<MessageSender | null> {
    const account = await this.accounts.open(accountId);
    if (!account) return null;
    const fingerprint = JSON.stringify([account.provider, account.values]);
    const known = this.senders.get(accountId);
    if (known?.fingerprint === fingerprint) return known.sender;
    const sender = MESSAGE_DEFINITIONS[account.provider].sender(reader(account.provider, account.values), this.reach);
    this.senders.set(accountId, { fingerprint, sender });
    return sender;
  }
}
