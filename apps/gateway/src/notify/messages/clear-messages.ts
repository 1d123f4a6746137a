import { Inject, Injectable } from '@nestjs/common';
import { PrismaService } from '#database';
import type { GatewaySettings } from '../../settings.js';
import { SETTINGS_TOKEN } from '../../tokens.js';
import { MessageRepository } from './message.repository.js';

/** Few enough that no other writer waits for their rows. */
const AT_ONCE = 500;

/**
 * Erases the addresses of messages MESSAGE_ADDRESS_KEEP_DAYS after they came to an end, and the messages with their attempts after
 * MESSAGE_KEEP_DAYS, as a chat with a bot that was not used for so long. Of an account that was deleted longer than MESSAGE_ADDRESS_KEEP_DAYS ago also those that wait, and the chats of its bot;
 * of one that has been disabled what waited for so long ends first.
 */
@Injectable()
export class ClearMessages {
  constructor(
    private readonly prisma: PrismaService,
    private readonly messages: MessageRepository,
    @Inject(SETTINGS_TOKEN)
    private readonly settings: Pick<GatewaySettings, 'MESSAGE_ADDRESS_KEEP_DAYS' | 'MESSAGE_KEEP_DAYS'>,
  ) {}

  /** @returns whether there may be more at once */
  async execute(): Promise<boolean> {
    const { MESSAGE_ADDRESS_KEEP_DAYS: addressDays, MESSAGE_KEEP_DAYS: days } = this.settings;
    const ended = await this.messages.endWaitingOfDisabled(addressDays, AT_ONCE);
    const erased = await this.prisma.$executeRaw`
      UPDATE messages SET address_sealed = NULL
       WHERE id IN (SELECT id FROM messages
                     WHERE finished_at < now() - make_interval(days => ${addressDays}::int4) AND address_sealed IS NOT NULL
                     ORDER BY finished_at LIMIT ${AT_ONCE} FOR UPDATE SKIP LOCKED)`;
    const removed = await this.prisma.$executeRaw`
      WITH finished AS MATERIALIZED (
        SELECT id FROM messages WHERE finished_at < now() - make_interval(days => ${days}::int4)
         ORDER BY finished_at LIMIT ${AT_ONCE} FOR UPDATE SKIP LOCKED
      ), abandoned AS MATERIALIZED (
        SELECT m.id FROM message_accounts a JOIN messages m ON m.account_id = a.id
         WHERE a.deleted_at < now() - make_interval(days => ${addressDays}::int4)
           AND m.state = ANY (ARRAY['pending', 'sending', 'unclear']::message_state[])
         LIMIT ${AT_ONCE} FOR UPDATE OF m SKIP LOCKED
      ), old AS (
        SELECT id FROM finished UNION ALL SELECT id FROM abandoned
      ), tried AS (
        DELETE FROM message_attempts a USING old WHERE a.message_id = old.id
      )
      DELETE FROM messages m USING old WHERE m.id = old.id`;
    const chats = await this.prisma.$executeRaw`
      DELETE FROM bot_chats
       WHERE id IN (SELECT c.id FROM message_accounts a JOIN bot_chats c ON c.account_id = a.id
                     WHERE a.channel = 'telegram' AND a.deleted_at < now() - make_interval(days => ${addressDays}::int4)
                     LIMIT ${AT_ONCE} FOR UPDATE OF c SKIP LOCKED)`;
    const unused = await this.prisma.$executeRaw`
      DELETE FROM bot_chats
       WHERE id IN (SELECT id FROM bot_chats WHERE used_at < now() - make_interval(days => ${days}::int4)
                     ORDER BY used_at LIMIT ${AT_ONCE} FOR UPDATE SKIP LOCKED)`;
    return [ended, erased, removed, chats, unused].some((rows) => rows >= AT_ONCE);
  }
}
