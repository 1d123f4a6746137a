import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database';
import { isId } from '#fiscal-domain';
import { MESSAGE_DEFINITIONS, type ProviderReport } from '#messages';
import { BotUpdates } from './bot-updates.js';
import { MessageAccounts, type OpenMessageAccount } from './message-accounts.js';
import { byStatus } from './message-outcome.js';
import { MessageRepository } from './message.repository.js';
import { SendingNotes } from './send-messages.js';

/** Reports of one call; a provider that reports more calls again. */
const MAX_REPORTS = 100;

/** What providers report of their messages. A report moves only messages of its own account, and none of them back. */
@Injectable()
export class RecordReports {
  constructor(
    private readonly prisma: PrismaService,
    private readonly accounts: MessageAccounts,
    private readonly messages: MessageRepository,
    private readonly notes: SendingNotes,
    private readonly bot: BotUpdates,
  ) {}

  /** @returns what the provider expects to be answered; null: the account is gone, or the body is no report of it */
  async execute(accountId: string, body: unknown, secret: string | undefined): Promise<string | null> {
    const account = await this.accounts.open(accountId);
    if (!account) return null;
    if (account.provider === 'telegram') {
      if (!this.bot.isFromTelegram(account, secret)) return null;
      await this.bot.handle(account, body);
      return 'OK';
    }
    const { reports, reportAnswer } = MESSAGE_DEFINITIONS[account.provider];
    const found = reports?.(body) ?? null;
    if (found === null) return null;
    for (const report of found.slice(0, MAX_REPORTS)) await this.record(account, report);
    return reportAnswer ?? 'OK';
  }

  private async record(account: OpenMessageAccount, { messageId, providerRef, status }: ProviderReport): Promise<void> {
    const named = messageId !== null && isId('msg', messageId) ? { id: messageId } : null;
    const where = named ?? (providerRef === null ? null : { providerRef });
    if (!where) return;
    const message = await this.prisma.message.findFirst({
      where: { ...where, accountId: account.id },
      select: { id: true },
    });
    if (!message) return;
    // What is delivered stays so; what was given up as unclear may turn out to have been sent.
    const from = (['sending', 'unclear', 'sent', 'failed'] as const).filter(
      (state) => status.state !== 'failed' || state !== 'failed',
    );
    const known = status.state === 'sent' ? from.filter((state) => state !== 'sent') : from;
    await this.messages.settle(message.id, byStatus(status), { from: known });
    if (status.isAddressRefused) {
      await this.notes.stop(message.id, status.word.startsWith('complaint') ? 'complaint' : 'bounce');
    }
  }
}
