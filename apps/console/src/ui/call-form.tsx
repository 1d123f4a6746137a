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
  /** Buttons that stand in a row with its own; null: it is alone there. Without a row it is as wide as the form. */
  beside?: ReactNode;
  children?: ReactNode;
}

/** A form whose one button makes one call: what was refused stands above the button, which cannot be pressed twice meanwhile. */
export function CallForm(props: Props): ReactElement {
  const { call, onSubmit, label, tone = 'primary', disabled = false, beside, children } = props;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onSubmit();
  };
  const button = (
    <Button type="submit" tone={tone} busy={call.isPending} disabled={disabled}>
      {label}
    </Button>
  );
  return (
    <form className="stack" onSubmit={submit}>
      {children}
      <ProblemNote problem={call.error} />
      {beside === undefined ? (
        button
      ) : (
        <div className="row-actions">
          {button}
          {beside}
        </div>
      )}
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
