import { Injectable } from '@nestjs/common';
import type { Prisma } from '#database';
import { writeEvent } from '#ledger';
import type { MessageChannel } from '#messages';
import { newId } from '#runtime';
import { AuditedChange } from '../../audit/audited-change.js';

type Tx = Pick<Prisma.TransactionClient, '$executeRaw' | '$queryRaw'>;

export type SuppressionReason = 'bounce' | 'complaint' | 'unsubscribed' | 'stopped' | 'manual';

export interface StoppedAddress {
  merchantId: string;
  channel: MessageChannel;
  addressHash: Uint8Array;
  addressHint: string;
  reason: SuppressionReason;
  messageId: string | null;
}

/** @returns its id; null: no messages went there already */
export async function stopAddress(tx: Tx, address: StoppedAddress): Promise<string | null> {
  const { merchantId, channel, addressHash, addressHint, reason, messageId } = address;
  const id = newId('sup');
  const made = await tx.$executeRaw`
    INSERT INTO suppressions (id, merchant_id, channel, address_hash, address_hint, reason, message_id)
    VALUES (${id}, ${merchantId}, ${channel}::message_channel, ${addressHash}, ${addressHint}, ${reason}, ${messageId})
    ON CONFLICT DO NOTHING`;
  if (made === 0) return null;
  const data = { suppression_id: id, channel, address: addressHint, reason, message_id: messageId };
  await writeEvent(tx, {
    merchantId,
    type: 'message.address_stopped',
    subjectId: id,
    data,
  });
  return id;
}

/** The same of the address to which a message went, or was to go. */
export function stopAddressOf(
  tx: Tx,
  { id: messageId, merchantId, channel, addressHash, addressHint }: Prisma.MessageGetPayload<object>,
  reason: SuppressionReason,
): Promise<string | null> {
  return stopAddress(tx, { merchantId, channel, addressHash, addressHint, reason, messageId });
}

/** Stops sending through an account whose key is wrong or that its provider has locked; an event reports it. */
@Injectable()
export class DisableAccount {
  constructor(private readonly changes: AuditedChange) {}

  /**
   * What waits stays and goes out when the account is enabled again. One that is held no more stays: its settings have changed meanwhile,
   * or another gateway sends, and meets the same refusal.
   */
  async execute(
    account: { id: string; merchant_id: string; channel: string; lease_until: Date },
    reason: string,
  ): Promise<void> {
    const { id, merchant_id: merchantId, channel } = account;
    const caller = { merchantId, actor: 'gateway', address: null, requestId: newId('req') };
    await this.changes.execute(caller, async (tx) => {
      const disabled = await tx.$executeRaw`
        UPDATE message_accounts SET disabled_at = now(), disabled_reason = ${reason}, due_at = NULL, lease_until = NULL
         WHERE id = ${id} AND disabled_at IS NULL AND lease_until = ${account.lease_until}::timestamptz`;
      if (disabled === 0) return { result: null, action: null };
      const data = { message_account_id: id, channel, reason };
      await writeEvent(tx, { merchantId, type: 'message.account_disabled', subjectId: id, data });
      const after = { enabled: false, reason };
      const before = { enabled: true };
      return { result: null, action: 'message_account.disable', targetId: id, before, after };
    });
  }
}
