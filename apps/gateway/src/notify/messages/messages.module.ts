import { Module } from '@nestjs/common';
import { AuditModule } from '../../audit/audit.module.js';
import { ReceiptsModule } from '../../receipts/receipts.module.js';
import { AddressBook } from './address-book.js';
import { BotUpdates } from './bot-updates.js';
import { BuyerController } from './buyer.controller.js';
import { ClearMessages } from './clear-messages.js';
import { ComposeMessage } from './compose-message.js';
import { MessageAccounts } from './message-accounts.js';
import { MessageBacklog } from './message-backlog.js';
import { MessageLoop } from './message-loop.js';
import { MessageMetrics } from './message-metrics.js';
import { MessageReach } from './message-reach.js';
import { MessageSenders } from './message-senders.js';
import { MessageTemplates } from './message-templates.js';
import { MessageTokens } from './message-tokens.js';
import { MessageRepository } from './message.repository.js';
import { MessageAccountsController, MessagesController } from './messages.controller.js';
import { PageController } from './page.controller.js';
import { PageMessages } from './page-messages.js';
import { PlanMessages } from './plan-messages.js';
import { PreviewMessage } from './preview-message.js';
import { ReceiptMessages } from './receipt-messages.js';
import { RecordReports } from './record-reports.js';
import { SendMessages, SendingNotes } from './send-messages.js';
import { DisableAccount } from './stop-sending.js';
import { Suppressions } from './suppressions.js';
import { Unsubscribe } from './unsubscribe.js';

/** Receipts reach their buyers: accounts, templates, messages, addresses that are left alone (docs/messages.md). */
@Module({
  imports: [AuditModule, ReceiptsModule],
  controllers: [MessagesController, MessageAccountsController, BuyerController, PageController],
  providers: [
    ...[AddressBook, MessageTokens, MessageReach, MessageAccounts, MessageSenders, MessageTemplates],
    ...[MessageRepository, ComposeMessage, PlanMessages, SendMessages, SendingNotes, DisableAccount, ClearMessages],
    ...[
      MessageLoop,
      MessageBacklog,
      MessageMetrics,
      ReceiptMessages,
      RecordReports,
      Suppressions,
      PreviewMessage,
      Unsubscribe,
      BotUpdates,
      PageMessages,
    ],
  ],
  exports: [PlanMessages],
})
export class MessagesModule {}
