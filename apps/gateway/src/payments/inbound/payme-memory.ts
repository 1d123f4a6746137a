import { growingCache } from '#runtime';
import type { PaymeCommand } from '#payments';
import type { FoundTransaction, LockedPayment, TransactionRow } from './inbound.repository.js';

/** Check, Create and Perform of a payment follow each other within seconds, or with a person in between. */
const TTL_MS = 5 * 60_000;
const MAX_CACHED = 10_000;

/**
 * What the call before has read or written of an order, so that the next one need not read it once more. It is only enough to try:
 * whatever it decides is written only where the locked rows still are so (PaymeGroups), and nothing is ever answered from it
 * alone. Another gateway, or a later call, reads.
 */
export class PaymeMemory {
  private readonly found = growingCache<string, FoundTransaction>(MAX_CACHED, { ttl: TTL_MS });

  /** Once: what was tried in vain is read. */
  of(accountId: string, command: PaymeCommand): FoundTransaction | undefined {
    const key = keyOf(accountId, command);
    const found = key === null ? undefined : this.found.get(key);
    if (found && key !== null) this.found.delete(key);
    return found;
  }

  /** CheckPerform was answered from it: it may be paid. */
  keepOrder(accountId: string, payment: LockedPayment): void {
    if (isUsual(payment))
      this.found.set(orderKey(accountId, payment.id), { payment, transaction: null, hasLive: false });
  }

  /** Create was written on it. */
  keepTransaction(
    accountId: string,
    payment: LockedPayment,
    { id, timeMs, createTimeMs }: { id: string; timeMs: number; createTimeMs: number },
  ): void {
    if (!isUsual(payment)) return;
    const transaction: TransactionRow = {
      ...{ id, payment_id: payment.id, state: 1, reason: null, amount_tiyin: payment.amount_tiyin },
      ...{ provider_time_ms: BigInt(timeMs), create_time_ms: BigInt(createTimeMs) },
      ...{ perform_time_ms: 0n, cancel_time_ms: 0n, attempt_number: null },
    };
    this.found.set(transactionKey(accountId, id), { payment, transaction, hasLive: true });
  }
}

/** What Payme registers itself carries its lines, and takes the other way. */
function isUsual({ device_id: deviceId }: LockedPayment): boolean {
  return deviceId !== null;
}

function keyOf(accountId: string, command: PaymeCommand): string | null {
  if (command.method === 'CreateTransaction') return orderKey(accountId, command.account ?? '');
  return command.method === 'PerformTransaction' ? transactionKey(accountId, command.id) : null;
}

function orderKey(accountId: string, paymentId: string): string {
  return `order ${accountId} ${paymentId}`;
}

function transactionKey(accountId: string, id: string): string {
  return `transaction ${accountId} ${id}`;
}
