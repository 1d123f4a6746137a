import type { FormEvent, ReactElement, ReactNode } from 'react';
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
