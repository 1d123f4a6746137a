import { Link } from '@tanstack/react-router';
import { useState, type ReactElement } from 'react';
import type { Schema } from '../../api/api.js';
import { useGet } from '../../api/use-get.js';
import { useWords } from '../../i18n/i18n.js';
import { useSession } from '../../session/session-context.js';
import { Badge, Card, PageHead } from '../../ui/shown.js';
import { Loaded, withScope } from '../../ui/states.js';
import { ClientSecret } from './client-secret.js';
import { DeviceStep, NewBranch, NewCashier, NewClient, TestReceipt } from './onboarding-steps.js';

type Step = Schema<'StepView'>;

export const OnboardingScreen = withScope('devices:read', Wizard);

/** From nothing to the first receipt: the gateway says what is there, this page does what is next. */
function Wizard(): ReactElement {
  const { onboarding: words } = useWords();
  // Shown once: the step that made it is done by then, and gone.
  const [secret, setSecret] = useState<Schema<'ClientWithSecretView'> | null>(null);
  const query = useGet(['onboarding'], '/v1/onboarding', { refetchInterval: 5_000 });
  return (
    <div className="page">
      <PageHead title={words.title} />
      <p className="hint">{words.intro}</p>
      {secret !== null && (
        <Card title={words.steps.client}>
          <ClientSecret client={secret} onDone={() => setSecret(null)} />
        </Card>
      )}
      <Loaded query={query}>
        {({ steps, next, complete }) => (
          <>
            {complete && (
              <p role="status">
                <Badge tone="good">{words.done}</Badge> {words.complete}
              </p>
            )}
            <ol className="plain-list steps">
              {steps.map((step) => (
                <li key={step.step}>
                  <OneStep step={step} isNext={step.step === next} onSecret={setSecret} />
                </li>
              ))}
            </ol>
          </>
        )}
      </Loaded>
    </div>
  );
}

interface StepProps {
  step: Step;
  isNext: boolean;
  onSecret: (client: Schema<'ClientWithSecretView'>) => void;
}

function OneStep({ step, isNext, onSecret }: StepProps): ReactElement {
  const { onboarding: words } = useWords();
  const { step: name, done, todo } = step;
  return (
    <Card
      title={words.steps[name]}
      actions={
        <Badge tone={done ? 'good' : isNext ? 'busy' : 'neutral'}>
          {done ? words.done : isNext ? words.next : words.later}
        </Badge>
      }
    >
      {done ? <Subject step={step} /> : <p>{words.explain[name]}</p>}
      {isNext && todo !== null && <p className="hint">{todo}</p>}
      {isNext && <Doing step={step} onSecret={onSecret} />}
    </Card>
  );
}

/** To what was made by the step, where there is a screen of it. */
function Subject({ step: { step, subject_id: id } }: { step: Step }): ReactElement | null {
  const { onboarding: words } = useWords();
  const { can } = useSession();
  if (id === null) return null;
  if (step === 'device') {
    return (
      <Link to="/registers/$id" params={{ id }}>
        {words.show}
      </Link>
    );
  }
  if (step === 'first_receipt' && can('receipts:read')) {
    return (
      <Link to="/receipts/$id" params={{ id }}>
        {words.show}
      </Link>
    );
  }
  return <code className="code">{id}</code>;
}

/** What each step is done with, and the right that it needs. */
function Doing({ step: { step, subject_id: id, call }, onSecret }: Omit<StepProps, 'isNext'>): ReactElement | null {
  const { state } = useWords();
  const { can } = useSession();
  const scope = { merchant: null, client: 'clients:admin', first_receipt: 'receipts:write' }[String(step)];
  const needed = scope === undefined ? 'devices:admin' : scope;
  if (needed !== null && !can(needed)) return <p className="hint">{state.noPermissionHint(needed)}</p>;
  switch (step) {
    case 'branch':
      return <NewBranch />;
    case 'cashier':
      return <NewCashier />;
    case 'device':
      return <DeviceStep enrolsId={call.endsWith('/enrolments') ? id : null} />;
    case 'client':
      return <NewClient onMade={onSecret} />;
    case 'first_receipt':
      return <TestReceipt />;
    default:
      return null;
  }
}
