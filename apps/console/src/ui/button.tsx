import type { ButtonHTMLAttributes, ReactElement, ReactNode } from 'react';

export type Tone = 'plain' | 'primary' | 'danger' | 'quiet';

interface Props extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'className'> {
  tone?: Tone;
  busy?: boolean;
  children: ReactNode;
}

/** A button that cannot be pressed twice while its work runs. */
export function Button({ tone = 'plain', busy = false, disabled, children, ...rest }: Props): ReactElement {
  return (
    <button
      type="button"
      {...rest}
      className={`button button-${tone}`}
      disabled={disabled === true || busy}
      aria-busy={busy || undefined}
    >
      {busy && <span className="spinner" aria-hidden="true" />}
      {children}
    </button>
  );
}
