import type { ClickCommand, ClickError } from './click-shop.wire.js';

/** The order that `merchant_trans_id` names. */
export interface ClickOrder {
  number: number;
  amountTiyin: number;
  /** Where its money stands: only `open` and `prepared` can be paid. */
  state: 'open' | 'prepared' | 'paid' | 'closed';
  /** This very click_trans_id was prepared, or paid it. */
  isThisOne: boolean;
}

export interface ClickDecision {
  error: ClickError;
  change: 'prepare' | 'confirm' | 'cancel' | null;
}

/** Order of the checks: -5, -6, -4, -2, -9. A repeat gets the answer that the first one got. */
export function decideClick(command: ClickCommand, order: ClickOrder | null): ClickDecision {
  const isComplete = command.action === 'complete';
  if (!order) return no(-5);
  if (isComplete && (command.merchantPrepareId !== String(order.number) || order.state === 'open')) return no(-6);
  if (order.state === 'paid') return isComplete && order.isThisOne ? no(0) : no(-4);
  // 0.01 som is one tiyin: the smallest sum there is, so "equal" needs no tolerance beyond it.
  if (command.amountTiyin === null || Math.abs(command.amountTiyin - order.amountTiyin) > 1) return no(-2);
  if (order.state === 'closed') return no(-9);
  if (command.error < 0) return { error: -9, change: order.isThisOne ? 'cancel' : null };
  if (isComplete && !order.isThisOne) return no(-6);
  return { error: 0, change: isComplete ? 'confirm' : order.isThisOne ? null : 'prepare' };
}

function no(error: ClickError): ClickDecision {
  return { error, change: null };
}
