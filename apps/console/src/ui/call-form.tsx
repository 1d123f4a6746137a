import type { FormEvent, ReactElement, ReactNode } from 'react';
import { useWords } from '../i18n/i18n.js';
import { Button, type Tone } from './button.js';
import { ProblemNote } from './states.js';

interface Props {
  /** What the form asks for, as its state says. */
  call: { error: unknown; isPending: boolean };
  onSubmit: () => void;
  /** On its button. */
  label: string;
  tone?: Tone;
  disabled?: boolean;
  children?: ReactNode;
}

/** A form whose one button makes one call: what was refused stands above the button, which cannot be pressed twice meanwhile. */
export function CallForm({ call, onSubmit, label, tone = 'primary', disabled = false, children }: Props): ReactElement {
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onSubmit();
  };
  return (
    <form className="stack" onSubmit={submit}>
      {children}
      <ProblemNote problem={call.error} />
      <Button type="submit" tone={tone} busy={call.isPending} disabled={disabled}>
        {label}
      </Button>
    </form>
  );
}

interface SureProps {
  call: { error: unknown; isPending: boolean; mutate: () => void };
  /** On the button that makes the call. */
  label: string;
  tone?: Tone;
  disabled?: boolean;
  onBack: () => void;
  /** What will happen. */
  children?: ReactNode;
}

/** Asks whether a call is meant: it is made, or the person goes back. */
export function SureCall({
  call,
  label,
  tone = 'primary',
  disabled = false,
  onBack,
  children,
}: SureProps): ReactElement {
  const { action } = useWords();
  return (
    <div className="stack">
      {children}
      <ProblemNote problem={call.error} />
      <div className="row-actions">
        <Button tone={tone} onClick={() => call.mutate()} busy={call.isPending} disabled={disabled}>
          {label}
        </Button>
        <Button onClick={onBack}>{action.back}</Button>
      </div>
    </div>
  );
}
