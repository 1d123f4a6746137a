import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { ApiProblem } from '../../api/problem.js';
import { useWords } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { Button } from '../../ui/button.js';
import { CallForm } from '../../ui/call-form.js';
import { Dialog } from '../../ui/dialog.js';
import { draftFields } from '../../ui/draft-fields.js';
import { SelectField, TextArea } from '../../ui/field.js';
import { Menu } from '../../ui/menu.js';
import { faultAt } from '../../ui/states.js';
import { useDraft } from '../../ui/use-draft.js';
import { decisionsAbout } from './decisions.js';
import { PaymentDocument } from './payment-document.js';
import type { PaymentStatusName } from './payment-status.js';

type Payment = Schema<'PaymentView'>;
type Outcome = Schema<'ResolveBody3'>['outcome'];
type Called = 'cancel' | 'capture' | 'retry' | 'resolve';
type Action = Called | 'document';

/** Whatever else is not possible now is refused by the gateway, with its reason. */
const CANCELLABLE: readonly PaymentStatusName[] = ['pending', 'created', 'reserved', 'authorized'];

export function PaymentActions({ payment }: { payment: Payment }): ReactElement {
  const { payments: words } = useWords();
  const { can } = useSession();
  const [open, setOpen] = useState<Action | null>(null);
  const close = (): void => setOpen(null);
  const { status } = payment;
  const actions: Action[] = [
    ...(can('payments:write') && CANCELLABLE.includes(status) ? (['cancel'] as const) : []),
    ...(can('payments:write') && status === 'authorized' ? (['capture'] as const) : []),
  ];
  const ofOperator = can('operator:resolve') ? decisionsAbout(payment) : [];
  return (
    <>
      {actions.map((action) => (
        <Button key={action} onClick={() => setOpen(action)}>
          {words[action]}
        </Button>
      ))}
      {ofOperator.length > 0 && (
        <Menu
          label={words.operator}
          entries={ofOperator.map((action) => ({ key: action, label: words[action], onSelect: () => setOpen(action) }))}
        />
      )}
      <Dialog title={open === null ? '' : words[open]} open={open !== null} onClose={close}>
        {open === 'document' && <PaymentDocument id={payment.id} onDone={close} />}
        {open !== null && open !== 'document' && (
          <ActionForm key={open} payment={payment} action={open} onDone={close} />
        )}
      </Dialog>
    </>
  );
}

interface FormProps {
  payment: Payment;
  action: Called;
  onDone: () => void;
}

interface Given {
  reason: string;
  outcome: Outcome;
}

const NOTHING: Given = { reason: '', outcome: 'captured' };

/** The operator's two need a reason; a decision also says what happened at the provider. */
function ActionForm({ payment, action, onDone }: FormProps): ReactElement {
  const { payments: words, action: texts } = useWords();
  const client = useQueryClient();
  const { id } = payment;
  // What the person has before it, whatever is read while the form is open.
  const [seen] = useState(payment);
  const [draft, change, clear] = useDraft<Given>(`payment:${action}:${id}`, NOTHING);
  const call = useMutation({
    mutationFn: async () => {
      if (action === 'resolve' && !(await isAsSeen(seen))) throw new ApiProblem(0, 'changed', words.changedMeanwhile);
      await run(action, seen, draft);
    },
    onError: () => client.invalidateQueries({ queryKey: ['payment', id] }),
    onSuccess: async () => {
      clear();
      for (const key of [['payment', id], ['payments'], ['payments-differences']]) {
        await client.invalidateQueries({ queryKey: key });
      }
      onDone();
    },
  });
  const needsReason = action === 'retry' || action === 'resolve';
  const field = draftFields(draft, change, call.error);
  return (
    <CallForm
      call={call}
      onSubmit={() => call.mutate()}
      label={words[action]}
      tone={action === 'cancel' ? 'danger' : 'primary'}
      beside={<Button onClick={onDone}>{texts.back}</Button>}
    >
      {action === 'resolve' && (
        <SelectField
          label={words.outcome}
          value={draft.outcome}
          options={Object.entries(words.outcomes).map(([value, label]) => ({ value, label }))}
          error={faultAt(call.error, '/outcome')}
          onValue={(outcome) => change({ outcome: outcome as Outcome })}
        />
      )}
      {needsReason && <TextArea label={words.why} required maxLength={500} {...field('reason')} />}
    </CallForm>
  );
}

/**
 * Whether a decision is still about what was read, its receipts and refunds among it. Another person may have decided meanwhile, or
 * this one whose answer was lost, and the next part may wait by now.
 */
async function isAsSeen(seen: Payment): Promise<boolean> {
  return standOf(await api('get', '/v1/payments/{id}', { path: { id: seen.id } })) === standOf(seen);
}

function standOf({
  status,
  status_since: since,
  refunded,
  refunds,
  receipt,
  further_receipts: further,
}: Payment): string {
  const ofReceipts = [receipt, ...further].map(({ status: state, refunded: back }) => [state, back]);
  return JSON.stringify([status, since, refunded, refunds, ofReceipts]);
}

async function run(action: Called, seen: Payment, { reason, outcome }: Given): Promise<void> {
  const { id, status_since, refunded } = seen;
  const path = { id };
  switch (action) {
    case 'cancel':
      return void (await api('post', '/v1/payments/{id}/cancel', { path }));
    case 'capture':
      return void (await api('post', '/v1/payments/{id}/capture', { path }));
    case 'retry':
      return void (await api('post', '/v1/operator/payments/{id}/retry', { path, body: { reason } }));
    case 'resolve':
      // These two are compared once more under the payment's lock: they may change between the reading and the call.
      return void (await api('post', '/v1/operator/payments/{id}/resolve', {
        path,
        body: { outcome, reason, status_since, refunded },
      }));
  }
}
