import { useState, type ReactElement } from 'react';
import { api, type Schema } from '../../api/api.js';
import { useWords } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { Button } from '../../ui/button.js';
import { CallForm } from '../../ui/call-form.js';
import { Dialog } from '../../ui/dialog.js';
import { draftFields } from '../../ui/draft-fields.js';
import { RadioField, TextArea } from '../../ui/field.js';
import { Badge, Card, Money, type BadgeTone } from '../../ui/shown.js';
import { useChange } from '../../ui/use-change.js';
import { useDraft } from '../../ui/use-draft.js';

type Payment = Schema<'PaymentView'>;
type Charge = Schema<'ExtraChargeView'>;
type Outcome = Schema<'ExtraChargeBody'>['outcome'];

const TONES: Record<Charge['status'], BadgeTone> = {
  ...{ reported: 'busy', refunding: 'busy', manual: 'warn' },
  ...{ refunded: 'good', absent: 'good', ours: 'good' },
};
const OUTCOMES: readonly Outcome[] = ['refunded', 'absent'];
/** The others have come to their end. */
const OPEN: readonly Charge['status'][] = ['reported', 'refunding', 'manual'];

/** What the provider took beyond the payment: the gateway asks it back, and a person ends what it cannot. */
export function ExtraCharges({ payment }: { payment: Payment }): ReactElement | null {
  const { payments: words } = useWords();
  const { can } = useSession();
  const [ended, setEnded] = useState<Charge | null>(null);
  const close = (): void => setEnded(null);
  if (payment.extra_charges.length === 0) return null;
  return (
    <Card title={words.extra}>
      <ul className="plain-list">
        {payment.extra_charges.map((charge) => (
          <li key={charge.provider_ref} className="line-item">
            <span className="wrap">
              <strong>
                <Money tiyin={charge.amount} />
              </strong>{' '}
              <Badge tone={TONES[charge.status]}>{words.chargeStates[charge.status]}</Badge>
              <small className="hint block">
                <code className="code">{charge.provider_ref}</code> · {charge.reason}
              </small>
            </span>
            {can('operator:resolve') && OPEN.includes(charge.status) && (
              <Button onClick={() => setEnded(charge)}>{words.endCharge}</Button>
            )}
          </li>
        ))}
      </ul>
      <Dialog title={words.endCharge} open={ended !== null} onClose={close}>
        {ended !== null && <EndCharge paymentId={payment.id} charge={ended} onDone={close} />}
      </Dialog>
    </Card>
  );
}

interface EndProps {
  paymentId: string;
  charge: Charge;
  onDone: () => void;
}

function EndCharge({ paymentId, charge, onDone }: EndProps): ReactElement {
  const { payments: words } = useWords();
  const [draft, change, clear] = useDraft<{ outcome: Outcome; reason: string }>(
    `extra-charge:${paymentId}:${charge.provider_ref}`,
    { outcome: 'refunded', reason: '' },
  );
  const call = useChange(
    () =>
      api('post', '/v1/operator/payments/{id}/extra-charges', {
        path: { id: paymentId },
        body: { ...draft, provider_ref: charge.provider_ref },
      }),
    { clear, refreshes: [['payment', paymentId], ['payments-differences']], onDone },
  );
  const field = draftFields(draft, change, call.error);
  return (
    <CallForm call={call} onSubmit={() => call.mutate()} label={words.endCharge} tone="danger">
      <p>{words.endChargeText}</p>
      <RadioField
        legend={words.outcome}
        name="outcome"
        value={draft.outcome}
        options={OUTCOMES.map((value) => ({ value, label: words.chargeOutcomes[value] }))}
        onValue={(outcome) => change({ outcome })}
      />
      <TextArea label={words.why} required maxLength={500} {...field('reason')} />
    </CallForm>
  );
}
