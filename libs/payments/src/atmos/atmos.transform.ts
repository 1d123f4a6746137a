import type { HttpAnswer } from '../http-exchange.js';
import { statusOf, type MoneyStatus, type NoStatus, type StatusFacts } from '../port.js';
import { integerAt, isObject, objectAt, textAt, type WireObject } from '../wire.js';

export type AtmosAnswer = { kind: 'body'; body: WireObject } | NoStatus;

/** `{result: {code, description}, …}`. The list of codes is not published: an error says only that this call was not done. */
export function atmosAnswer(answer: HttpAnswer): AtmosAnswer {
  if (answer.kind !== 'answered') return answer;
  const { status, body } = answer;
  if (!isObject(body) || status >= 500) return { kind: 'unknown', detail: `HTTP ${String(status)}` };
  const result = objectAt(body, 'result');
  const code = textAt(result, 'code');
  if (code === 'OK' && status === 200) return { kind: 'body', body };
  const detail = textAt(result, 'description') ?? `HTTP ${String(status)}`;
  if (code === null || code === 'OK') return { kind: 'unknown', detail };
  return { kind: 'refused', code, detail };
}

/** `store_transaction`: confirmed is taken; not confirmed beside an id of its success is given back. */
export function atmosPaymentStatus(body: WireObject, providerRef: string | null): StatusFacts {
  const transaction = objectAt(body, 'store_transaction');
  const wasTaken = integerAt(transaction, 'success_trans_id') !== null;
  const status = moneyOf(transaction['confirmed'], wasTaken);
  return statusOf(status, {
    providerRef: providerRef ?? textAt(transaction, 'trans_id'),
    amountTiyin: integerAt(transaction, 'amount'),
  });
}

function moneyOf(confirmed: unknown, wasTaken: boolean): MoneyStatus {
  if (confirmed === true) return 'captured';
  if (confirmed === false) return wasTaken ? 'refunded' : 'pending';
  return 'in_flight';
}

const HOLD: Readonly<Record<string, MoneyStatus>> = {
  created: 'pending',
  active: 'authorized',
  charged: 'captured',
  cancelled: 'voided',
  expired: 'voided',
};

export function atmosHoldStatus(body: WireObject, providerRef: string | null): StatusFacts {
  return statusOf(HOLD[textAt(body, 'status') ?? ''] ?? 'in_flight', {
    providerRef: providerRef ?? textAt(body, 'hold_id'),
    amountTiyin: integerAt(body, 'amount'),
  });
}
