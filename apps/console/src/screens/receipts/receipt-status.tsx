import type { ReactElement } from 'react';
import type { Receipt } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { Badge, type BadgeTone } from '../../ui/shown.js';

const TONES: Record<Receipt['status'], BadgeTone> = {
  awaiting_payment: 'busy',
  accepted: 'busy',
  sending: 'busy',
  registered: 'good',
  rejected: 'bad',
  unknown: 'warn',
  cancelled: 'neutral',
};

export function StatusBadge({ status }: { status: Receipt['status'] }): ReactElement {
  const { receipts } = useWords();
  return <Badge tone={TONES[status]}>{receipts.status[status]}</Badge>;
}

/** It may still change by itself: the screen asks again. */
export function isUnderWay(status: Receipt['status']): boolean {
  return status === 'accepted' || status === 'sending' || status === 'awaiting_payment';
}
