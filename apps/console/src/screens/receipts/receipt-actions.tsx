import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { api, type Receipt } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { Button } from '../../ui/button.js';
import { SureCall } from '../../ui/call-form.js';
import { Dialog } from '../../ui/dialog.js';
import { CompleteFiscal } from './complete-fiscal.js';
import { RefundDialog } from './refund-dialog.js';

type Open = 'cancel' | 'refund' | 'complete' | null;

/** What this person may do with this receipt now. What the gateway would refuse all the same is refused there. */
export function ReceiptActions({ receipt }: { receipt: Receipt }): ReactElement {
  const { receipts } = useWords();
  const { can } = useSession();
  const [open, setOpen] = useState<Open>(null);
  const { status, type, fiscal, refunded } = receipt;
  const isRefundable = status === 'registered' && type === 'sale' && !refunded.complete && fiscal?.fiscal_sign !== null;
  const lacksSign = status === 'registered' && (type === 'sale' || type === 'refund') && fiscal?.fiscal_sign === null;
  const close = (): void => setOpen(null);
  return (
    <>
      {status === 'accepted' && can('receipts:write') && (
        <Button onClick={() => setOpen('cancel')}>{receipts.actions.cancel}</Button>
      )}
      {isRefundable && can('refunds:write') && (
        <Button tone="primary" onClick={() => setOpen('refund')}>
          {receipts.actions.refund}
        </Button>
      )}
      {lacksSign && can('operator:resolve') && (
        <Button onClick={() => setOpen('complete')}>{receipts.actions.complete}</Button>
      )}
      <Dialog title={receipts.actions.cancel} open={open === 'cancel'} onClose={close}>
        <CancelReceipt receipt={receipt} onDone={close} />
      </Dialog>
      <Dialog title={receipts.refund.title} open={open === 'refund'} onClose={close} shape="wide">
        <RefundDialog receipt={receipt} onDone={close} />
      </Dialog>
      <Dialog title={receipts.actions.complete} open={open === 'complete'} onClose={close}>
        <CompleteFiscal receipt={receipt} onDone={close} />
      </Dialog>
    </>
  );
}

function CancelReceipt({ receipt, onDone }: { receipt: Receipt; onDone: () => void }): ReactElement {
  const { receipts } = useWords();
  const client = useQueryClient();
  const cancel = useMutation({
    mutationFn: () => api('post', '/v1/receipts/{id}/cancel', { path: { id: receipt.id } }),
    onSuccess: async () => {
      onDone();
      await client.invalidateQueries({ queryKey: ['receipt', receipt.id] });
      await client.invalidateQueries({ queryKey: ['timeline', receipt.id] });
    },
  });
  return (
    <SureCall call={cancel} label={receipts.actions.cancel} tone="danger" onBack={onDone}>
      <p>{receipts.actions.cancelText}</p>
    </SureCall>
  );
}
