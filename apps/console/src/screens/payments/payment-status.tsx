import type { ReactElement } from 'react';
import type { Schema } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { Badge, type BadgeTone } from '../../ui/shown.js';

export type PaymentStatusName = Schema<'PaymentSummary'>['status'];

const GOOD: readonly PaymentStatusName[] = ['captured', 'authorized'];
const BAD: readonly PaymentStatusName[] = ['declined', 'expired', 'capture_refused'];
const DONE: readonly PaymentStatusName[] = ['cancelled', 'voided', 'refunded'];

function toneOf(status: PaymentStatusName): BadgeTone {
  if (status === 'manual' || status.endsWith('_unknown')) return 'warn';
  if (GOOD.includes(status)) return 'good';
  if (BAD.includes(status)) return 'bad';
  return DONE.includes(status) ? 'neutral' : 'busy';
}

export function PaymentStatus({ status }: { status: PaymentStatusName }): ReactElement {
  const { payments } = useWords();
  return <Badge tone={toneOf(status)}>{payments.statuses[status]}</Badge>;
}
