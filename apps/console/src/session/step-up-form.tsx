import { useMutation } from '@tanstack/react-query';
import { useState, type FormEvent, type ReactElement } from 'react';
import { ApiProblem } from '../api/problem.js';
import { useWords } from '../i18n/i18n.js';
import { Button } from '../ui/button.js';
import { ProblemNote } from '../ui/states.js';
import { CodeField } from './code-field.js';
import { goToProvider, stepUpByCode, stepUpByPasskey } from './sign-in.js';

/** Asks for the second factor by the ways that the user has. */
export function StepUpForm({ methods, onDone }: { methods: readonly string[]; onDone: () => void }): ReactElement {
  const { stepUp, action } = useWords();
  const [code, setCode] = useState('');
  const byCode = useMutation({ mutationFn: () => stepUpByCode(code), onSuccess: onDone });
  const byPasskey = useMutation({ mutationFn: stepUpByPasskey, onSuccess: onDone });
  const byProvider = useMutation({ mutationFn: () => goToProvider({ step_up: true }) });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    byCode.mutate();
  };
  const problem = byCode.error ?? byPasskey.error ?? byProvider.error;
  const isWrong = problem instanceof ApiProblem && ['second_factor_refused', 'passkey'].includes(problem.code);
  return (
    <div className="stack">
      <p>{stepUp.text}</p>
      {methods.includes('totp') && (
        <form className="stack" onSubmit={submit}>
          <CodeField autoFocus value={code} onValue={setCode} />
          <Button type="submit" tone="primary" busy={byCode.isPending}>
            {action.confirm}
          </Button>
        </form>
      )}
      {methods.includes('passkey') && (
        <Button onClick={() => byPasskey.mutate()} busy={byPasskey.isPending}>
          {stepUp.passkey}
        </Button>
      )}
      {methods.includes('oidc') && (
        <Button onClick={() => byProvider.mutate()} busy={byProvider.isPending}>
          {stepUp.oidc}
        </Button>
      )}
      {isWrong ? (
        <p className="problem" role="alert">
          {stepUp.wrong}
        </p>
      ) : (
        <ProblemNote problem={problem} />
      )}
    </div>
  );
}
