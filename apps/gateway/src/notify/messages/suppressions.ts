import { Injectable } from '@nestjs/common';
import { PrismaService, type Prisma } from '#database';
import { Problem } from '#problems';
import { maskedAddress, type MessageChannel } from '#messages';
import { AuditedChange } from '../../audit/audited-change.js';
import type { Caller } from '../../audit/caller.js';
import { notFound } from '../../http/own-id.js';
import { pageOf, pageRequest, type Page, type PageQuery } from '../../http/paging.js';
import { viewOfColumns } from '../../http/view-of-columns.js';
import { AddressBook } from './address-book.js';
import type { SuppressionBody } from './message-bodies.js';
import { addressOrThrow } from './receipt-messages.js';
import { stopAddress } from './stop-sending.js';

export interface SuppressionView {
  id: string;
  channel: MessageChannel;
  /** Masked. */
  address: string;
  reason: 'bounce' | 'complaint' | 'unsubscribed' | 'stopped' | 'manual';
  /** The message that it came of; null: entered by hand. */
  message_id: string | null;
  created_at: string;
}

type SuppressionRow = Prisma.SuppressionGetPayload<object>;

/** Addresses to which a merchant's messages do not go. */
@Injectable()
export class Suppressions {
  constructor(
    private readonly prisma: PrismaService,
    private readonly changes: AuditedChange,
    private readonly book: AddressBook,
  ) {}

  async list(merchantId: string, query: PageQuery): Promise<Page<SuppressionView>> {
    const { limit, afterId } = pageRequest(query, 'sup');
    const rows = await this.prisma.suppression.findMany({
      where: { merchantId, ...(afterId !== null && { id: { lt: afterId } }) },
      ...{ orderBy: { id: 'desc' }, take: limit + 1 },
    });
    return pageOf(rows, limit, suppressionView);
  }

  /** @throws Problem 409 when it is one already, 422 */
  async add(caller: Caller, { channel, address: text }: SuppressionBody): Promise<SuppressionView> {
    const { merchantId } = caller;
    const address = addressOrThrow(channel, text, '/address');
    const addressHash = await this.book.hash(channel, address);
    const addressHint = maskedAddress(channel, address);
    return this.changes.execute(caller, async (tx) => {
      const id = await stopAddress(tx, {
        merchantId,
        channel,
        addressHash,
        addressHint,
        reason: 'manual',
        messageId: null,
      });
      if (id === null) throw new Problem('code_taken', 'No messages go to this address already.');
      const result = suppressionView(await tx.suppression.findUniqueOrThrow({ where: { id } }));
      return { result, action: 'suppression.create', targetId: id, before: null, after: result };
    });
  }

  /** Messages go there again, also to an address that was refused. @throws Problem 404 */
  async remove(caller: Caller, id: string): Promise<void> {
    await this.changes.execute(caller, async (tx) => {
      const row = await tx.suppression.findFirst({ where: { id, merchantId: caller.merchantId } });
      if (!row) throw notFound('suppression');
      await tx.suppression.delete({ where: { id } });
      return { result: null, action: 'suppression.delete', targetId: id, before: suppressionView(row), after: null };
    });
  }
}

function suppressionView(row: SuppressionRow): SuppressionView {
  return {
    ...viewOfColumns(row, 'id', 'channel', 'messageId', 'createdAt'),
    address: row.addressHint,
    reason: row.reason as SuppressionView['reason'],
  };
}
